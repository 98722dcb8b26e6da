// SPDX-License-Identifier: Apache-2.0
#include "multiclass_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/decided_classes.hpp>
#include <tally/metrics/multiclass_pass.hpp>

namespace tally::compare {
namespace {

using metrics::MulticlassRecord;
using metrics::OutputKind;

struct Columns {
  std::vector<std::int64_t> label, prediction;
  std::vector<std::int32_t> label_rank;
  std::vector<float> loss, confidence;
};

Columns read_columns(const SavedRun& run) {
  constexpr std::string_view kSave = "labels";
  return {.label = run.column<std::int64_t>("label", kSave),
          .prediction = run.column<std::int64_t>("prediction", kSave),
          .label_rank = run.column<std::int32_t>("label_rank", kSave),
          .loss = run.column<float>("loss", kSave),
          .confidence = run.column<float>("confidence", kSave)};
}

// Checks that the columns of one row fit each other and the settings. Error(dataset) names the
// value that cannot be.
class RowCheck {
 public:
  RowCheck(const SavedRun& run, const ScoringSettings& settings) : run_(run), settings_(settings) {}

  void check_classes(std::size_t i, const MulticlassRecord& row) const {
    const std::int64_t classes = settings_.num_classes;
    if (!row.ignored) expect("label", i, row.label, 0, classes - 1);
    expect("prediction", i, row.prediction, -1, classes - 1);
  }

  void check(std::size_t i, const MulticlassRecord& row) const {
    const std::int64_t classes = settings_.num_classes;
    check_classes(i, row);
    if (!row.finite || row.ignored) {
      expect("label_rank", i, row.label_rank, -1, -1);
    } else {
      expect("label_rank", i, row.label_rank, 0, classes - 1);
      expect_number("loss", i, row.loss);
    }
    if (row.finite) expect_probability("confidence", i, row.confidence);
    const bool is_predicted = row.prediction == row.label;
    if (!row.ignored && row.finite && is_predicted != row.is_right()) {
      run_.throw_dataset_error("label_rank", i, format("{}", row.label_rank),
                               is_predicted ? "0 where the label is predicted"
                                            : "more than 0 where the label is not predicted");
    }
  }

 private:
  void expect(std::string_view column, std::size_t row, std::int64_t value, std::int64_t low,
              std::int64_t high) const {
    if (value >= low && value <= high) return;
    run_.throw_dataset_error(column, row, format("{}", value),
                             low == high ? format("{}", low) : format("{}..{}", low, high));
  }

  void expect_number(std::string_view column, std::size_t row, double value) const {
    if (!std::isfinite(value))
      run_.throw_dataset_error(column, row, format("{}", value), "a finite number");
  }

  // A probability that a model of half precision returns may lie outside [0, 1] by 0.01, or by a
  // factor of exp(0.01) where the model returns its logarithm. Evaluation accepts no more (kSlack
  // in metrics/passes/deterministic_math.hpp).
  void expect_probability(std::string_view column, std::size_t row, double value) const {
    constexpr double kMost = 1.0101, kLeast = -0.01;
    if (!(value >= kLeast && value <= kMost))
      run_.throw_dataset_error(column, row, format("{}", value), "a probability");
  }

  const SavedRun& run_;
  const ScoringSettings& settings_;
};

// Chooses the best scores that the file holds: logits are what the model returned, probabilities
// that were made of them are rounded.
ScoreColumn score_column(const SavedRun& run, const ScoringSettings& settings) {
  if (run.has_column("logits")) return {"logits", settings.outputs};
  return {"probabilities", OutputKind::probabilities};
}

// Turns the scores of a row into what the column `probabilities` would hold. Those of a row without
// a prediction stay where they are not finite, for they are the reason.
void round_to_probabilities(OutputKind kind, bool is_predicted, std::span<float> scores) {
  const bool finite = std::ranges::all_of(scores, [](float score) { return std::isfinite(score); });
  if (!is_predicted && !finite) return;
  const std::vector<float> row(scores.begin(), scores.end());
  metrics::class_probabilities(row, kind, scores);
}

// Takes over what the scores say of a row.
void take(const SavedRun& run, std::string_view column, std::size_t i,
          const MulticlassRecord& found, FromScores what, MulticlassRecord& row) {
  if (found.finite != row.finite) {
    run.throw_dataset_error(column, i, found.finite ? "finite scores" : "NaN or Inf",
                            format("what fits prediction {}", row.prediction));
  }
  if (what == FromScores::brier_and_hinge) {
    row.brier = found.brier;
    row.hinge = found.hinge;
    return;
  }
  // Rounded probabilities may tie where the scores did not, so that only scores as the model
  // returned them must give the saved prediction and rank.
  if (found.prediction != row.prediction || found.label_rank != row.label_rank) {
    run.throw_dataset_error(column, i, format("scores of prediction {}", found.prediction),
                            format("those of prediction {}", row.prediction));
  }
  const std::uint64_t index = row.index;  // the scores do not know it
  row = found;
  row.index = index;
}

}  // namespace

SavedScores saved_scores(const SavedRun& run, const ScoringSettings& settings) {
  if (run.has_column("logits")) return SavedScores::outputs;
  if (!run.has_column("probabilities")) return SavedScores::none;
  return settings.outputs == OutputKind::probabilities ? SavedScores::outputs
                                                       : SavedScores::probabilities;
}

std::vector<MulticlassRecord> rows_of_columns(const SavedRun& run,
                                              const ScoringSettings& settings) {
  const Columns columns = read_columns(run);
  const RowCheck check(run, settings);
  std::vector<MulticlassRecord> rows(run.indices().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    MulticlassRecord& row = rows[i];
    row.index = static_cast<std::uint64_t>(run.indices()[i]);
    row.label = columns.label[i];
    row.prediction = columns.prediction[i];
    // Ties are not saved, and no value of a metric depends on them: only their bounds do, which are
    // not compared.
    row.label_rank = row.best_rank = row.worst_rank = columns.label_rank[i];
    row.ignored = settings.ignore_index == row.label;
    row.finite = row.prediction != -1;
    row.loss = columns.loss[i];
    row.confidence = columns.confidence[i];
    row.brier = row.hinge = std::numeric_limits<double>::quiet_NaN();
    check.check(i, row);
  }
  return rows;
}

std::vector<MulticlassRecord> rows_of_classes(const SavedRun& run,
                                              const ScoringSettings& settings) {
  const auto labels = run.column<std::int64_t>("label", "labels");
  const auto predicted = run.column<std::int64_t>("prediction", "labels");
  const RowCheck check(run, settings);
  std::vector<MulticlassRecord> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    rows.push_back(
        metrics::decided_record(run.indices()[i], labels[i], predicted[i], settings.ignore_index));
    check.check_classes(i, rows.back());
  }
  return rows;
}

ReadProbabilities probabilities_of(const SavedRun& run, const ScoringSettings& settings) {
  const ScoreColumn column = score_column(run, settings);
  const std::int64_t classes = settings.num_classes;
  // A std::function is copied, and a Dataset cannot be: all copies share it.
  const auto scores =
      std::make_shared<hdf5::Dataset>(run.rows(column.name, column.name, {classes}));
  return [scores, column, classes](std::int64_t first, std::int64_t count,
                                   std::span<float> probabilities) {
    scores->read_rows(first, count, std::as_writable_bytes(probabilities));
    // The scores are read into the caller's memory, where each row is then replaced.
    std::vector<float> row(to_size(classes));
    for (; !probabilities.empty(); probabilities = probabilities.subspan(row.size())) {
      std::ranges::copy(probabilities.first(row.size()), row.begin());
      metrics::class_probabilities(row, column.kind, probabilities.first(row.size()));
    }
  };
}

void add_scores(const SavedRun& run, const ScoringSettings& settings,
                const metrics::MetricOptions& options, FromScores what,
                std::vector<MulticlassRecord>& rows) {
  const ScoreColumn column = score_column(run, settings);
  const bool must_round = what != FromScores::all && column.kind != OutputKind::probabilities;
  // Scores that are rounded to probabilities first are examined as such.
  const auto rules =
      metrics::score_rules(options, must_round ? OutputKind::probabilities : column.kind);
  const std::int64_t classes = settings.num_classes;
  std::vector<std::int64_t> labels;
  metrics::RowStatistics stats;
  const auto take_window = [&](std::int64_t first, std::int64_t count, std::span<float> values) {
    const auto in_window = std::span(rows).subspan(to_size(first), to_size(count));
    labels.clear();
    for (const MulticlassRecord& row : in_window) {
      if (must_round) {
        const auto place = labels.size() * to_size(classes);
        round_to_probabilities(column.kind, row.finite, values.subspan(place, to_size(classes)));
      }
      labels.push_back(row.label);
    }
    metrics::compute_multiclass_statistics(
        contiguous_view(values.data(), DType::f32, {count, classes}), first, labels, rules, stats);
    if (stats.wrong_kind_row) {
      run.throw_dataset_error(column.name, to_size(first + *stats.wrong_kind_row),
                              "values out of range", metrics::name(rules.kind));
    }
    for (std::size_t i = 0; i < in_window.size(); ++i) {
      take(run, column.name, to_size(first) + i, stats.rows[i], what, in_window[i]);
    }
  };
  run.for_each_window(column.name, {classes}, take_window);
}

}  // namespace tally::compare
