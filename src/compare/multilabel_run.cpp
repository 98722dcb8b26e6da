// SPDX-License-Identifier: Apache-2.0
#include "multilabel_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

namespace tally::compare {
namespace {

using metrics::kNotScored;
using metrics::LabelStatistics;
using metrics::MultilabelRecord;

// Stands for the prediction of a sample whose outputs are not finite: the number that the column of
// several labels holds, in place of the -1 of a binary run.
constexpr std::uint8_t kNoPrediction = 255;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct LabelColumns {
  std::vector<std::uint8_t> targets;      // [samples, labels] 1, 0 or kNotScored
  std::vector<std::uint8_t> predictions;  // [samples, labels] 1, 0 or kNoPrediction
  std::vector<float> probabilities;       // [samples, labels]
  std::vector<float> loss;                // [samples]
};

// Reads a column of 0 and 1, one value a label, as bytes. `special`, if there is one, is a third
// value that the file may hold; it becomes `mark`. Error(dataset) names any other value.
template <class Value>
std::vector<std::uint8_t> marks_of(const LabelRun& labels, const char* column,
                                   std::optional<std::int64_t> special, std::uint8_t mark) {
  std::vector<std::uint8_t> marks;
  for (const Value value : labels.run.column<Value>(column, "labels", labels.row_shape)) {
    const bool is_special = special == std::int64_t{value};
    if (!is_special && value != 0 && value != 1) {
      labels.run.throw_dataset_error(column, marks.size() / to_size(labels.num_labels),
                                     format("{}", value),
                                     special ? format("0, 1 or {}", *special) : "0 or 1");
    }
    marks.push_back(is_special ? mark : static_cast<std::uint8_t>(value));
  }
  return marks;
}

// Values in the place of probabilities that are not saved. They lie on the side of the threshold on
// which the label was predicted.
std::vector<float> stand_ins(const std::vector<std::uint8_t>& predictions) {
  std::vector<float> values(predictions.size());
  std::ranges::transform(predictions, values.begin(), [](std::uint8_t predicted) {
    return predicted == kNoPrediction ? kNan : static_cast<float>(predicted);
  });
  return values;
}

LabelColumns read_columns(const LabelRun& labels) {
  const auto ignored = labels.settings.ignore_index;
  const SavedRun& run = labels.run;
  LabelColumns columns;
  if (labels.is_binary) {
    columns.targets = marks_of<std::int64_t>(labels, "label", ignored, kNotScored);
    columns.predictions = marks_of<std::int64_t>(labels, "prediction", -1, kNoPrediction);
  } else {
    columns.targets = marks_of<std::uint8_t>(labels, "label", ignored, kNotScored);
    columns.predictions =
        marks_of<std::uint8_t>(labels, "prediction", kNoPrediction, kNoPrediction);
  }
  const char* const probabilities = labels.probability_column();
  columns.probabilities =
      labels.has_probabilities
          ? run.column<float>(probabilities, labels.is_binary ? "labels" : probabilities,
                              labels.row_shape)
          : stand_ins(columns.predictions);
  if (labels.uses_scores) columns.loss = run.column<float>("loss", "labels");
  return columns;
}

// Throws Error(dataset) where prediction and probability of one label contradict each other.
void check_label(const LabelRun& labels, const LabelColumns& columns, std::size_t i) {
  const std::size_t row = i / to_size(labels.num_labels);
  const std::uint8_t predicted = columns.predictions[i];
  const float probability = columns.probabilities[i];
  const bool fits =
      predicted == kNoPrediction ? std::isnan(probability) : probability >= 0 && probability <= 1;
  if (!fits) {
    labels.run.throw_dataset_error(
        labels.probability_column(), row, format("{}", probability),
        predicted == kNoPrediction ? "nan, for nothing is predicted" : "0 to 1");
  }
  const bool is_above = probability > labels.threshold;
  if (labels.has_probabilities && is_above != (predicted == 1)) {
    labels.run.throw_dataset_error(
        labels.probability_column(), row, format("{}", probability),
        format("what fits the prediction at threshold {}", labels.threshold));
  }
}

MultilabelRecord row_of(const LabelRun& labels, const LabelColumns& columns, std::size_t i) {
  const auto count = to_size(labels.num_labels);
  const auto targets = std::span(columns.targets).subspan(i * count, count);
  const auto predictions = std::span(columns.predictions).subspan(i * count, count);
  const auto without = std::ranges::count(predictions, kNoPrediction);
  if (without != 0 && without != labels.num_labels) {
    labels.run.throw_dataset_error("prediction", i,
                                   format("{} labels without a prediction", without),
                                   format("0 or {}", count));
  }
  MultilabelRecord row;
  row.index = static_cast<std::uint64_t>(labels.run.indices()[i]);
  row.scored =
      checked_cast<std::int32_t>(std::ssize(targets) - std::ranges::count(targets, kNotScored));
  row.finite = without == 0;
  if (!row.finite || row.is_ignored() || !labels.uses_scores) return row;
  if (!std::isfinite(columns.loss[i])) {
    labels.run.throw_dataset_error("loss", i, format("{}", columns.loss[i]), "a finite number");
  }
  // The column holds the mean over the scored labels, the record their sum.
  row.loss = double{columns.loss[i]} * row.scored;
  return row;
}

}  // namespace

LabelRun::LabelRun(const KnownRun& known, bool with_scores)
    : run(known.run),
      settings(known.settings),
      is_binary(is_task(run.attribute("task"), TaskKind::binary)),
      uses_scores(with_scores),
      has_logits(uses_scores && run.has_column("logits")),
      has_probabilities(uses_scores && (is_binary || run.has_column("probabilities"))),
      num_labels(is_binary ? 1 : settings.num_classes),
      row_shape(is_binary ? Shape{} : Shape{num_labels}),
      threshold(static_cast<float>(settings.threshold)) {}

SavedLabelScores LabelRun::saved_scores() const {
  if (has_logits) return SavedLabelScores::outputs;
  if (!has_probabilities) return SavedLabelScores::predictions_only;
  // A binary model may return two probabilities, of which the file holds that of class 1 only.
  const bool as_returned = !is_binary && settings.outputs == metrics::OutputKind::probabilities;
  return as_returned ? SavedLabelScores::outputs : SavedLabelScores::probabilities;
}

LabelStatistics statistics_of_columns(const LabelRun& labels) {
  LabelColumns columns = read_columns(labels);
  for (std::size_t i = 0; i < columns.targets.size(); ++i) check_label(labels, columns, i);
  LabelStatistics stats;
  for (std::size_t i = 0; i < labels.run.indices().size(); ++i) {
    stats.rows.push_back(row_of(labels, columns, i));
  }
  stats.probabilities = std::move(columns.probabilities);
  stats.targets = std::move(columns.targets);
  return stats;
}

void count_right(float threshold, LabelStatistics& stats) {
  std::size_t place = 0;
  const std::size_t labels = stats.targets.size() / std::max<std::size_t>(stats.rows.size(), 1);
  for (MultilabelRecord& row : stats.rows) {
    row.right = 0;
    for (const std::size_t end = place + labels; place != end; ++place) {
      const std::uint8_t predicted = stats.probabilities[place] > threshold ? 1 : 0;
      if (row.finite && stats.targets[place] == predicted) ++row.right;
    }
  }
}

namespace {

using metrics::LabelStatistics;
using metrics::MultilabelRecord;
using metrics::OutputKind;

// How far a probability that is made of a saved score may lie from the saved probability: of a
// binary model with two outputs the file holds their difference, rounded to float32.
constexpr float kRounding = 1e-6f;

// Chooses the best scores that the file holds; with the loss from the column it chooses
// probabilities, which every file with scores has or can give.
ScoreColumn score_column(const LabelRun& labels, LossFrom loss) {
  const bool wants_best = loss == LossFrom::scores || !labels.has_probabilities;
  if (labels.has_logits && wants_best) return {"logits", labels.settings.outputs};
  return {labels.probability_column(), OutputKind::probabilities};
}

// Where one of two class scores is -Inf, their difference is infinite although the outputs count as
// finite. It is replaced by the log-odds whose loss is that of a class of probability 0.
void bound_log_odds(std::span<const MultilabelRecord> rows, std::span<float> scores) {
  constexpr auto kCertain = static_cast<float>(metrics::kZeroProbabilityLoss);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].finite && std::isinf(scores[i])) scores[i] = std::copysign(kCertain, scores[i]);
  }
}

// Takes over what the scores of one window say into the statistics of all samples.
class Taker {
 public:
  Taker(const LabelRun& labels, std::string column, LossFrom loss)
      : labels_(labels), column_(std::move(column)), loss_(loss) {}

  void take(std::size_t first, const LabelStatistics& found, LabelStatistics& stats) const {
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      take_row(first + i, found.rows[i], stats.rows[first + i]);
    }
    const auto count = to_size(labels_.num_labels);
    for (std::size_t i = 0; i < found.probabilities.size(); ++i) {
      take_probability(first + i / count, found.probabilities[i],
                       stats.probabilities[first * count + i]);
    }
  }

 private:
  void take_row(std::size_t i, const MultilabelRecord& found, MultilabelRecord& row) const {
    if (found.finite != row.finite) {
      labels_.run.throw_dataset_error(column_, i, found.finite ? "finite scores" : "NaN or Inf",
                                      row.finite ? "finite scores, for there is a prediction"
                                                 : "NaN or Inf, for nothing is predicted");
    }
    const MultilabelRecord saved = row;
    row = found;
    row.index = saved.index;  // the scores do not know it
    if (loss_ == LossFrom::column) row.loss = saved.loss;
  }

  // A saved probability stays, because the labels were predicted by it. Where only predictions are
  // saved, the probability that the scores give replaces its stand-in.
  void take_probability(std::size_t i, float found, float& probability) const {
    if (std::isnan(found)) return;
    const bool fits = labels_.has_probabilities ? std::abs(probability - found) <= kRounding
                                                : (found > labels_.threshold) == (probability > 0);
    if (!fits) {
      labels_.run.throw_dataset_error(
          column_, i, format("a score of probability {}", found),
          labels_.has_probabilities ? format("that of {}", probability) : "that of the prediction");
    }
    if (!labels_.has_probabilities) probability = found;
  }

  const LabelRun& labels_;
  std::string column_;
  LossFrom loss_;
};

}  // namespace

void add_scores(const LabelRun& labels, const metrics::MetricOptions& options, LossFrom loss,
                LabelStatistics& stats) {
  const ScoreColumn column = score_column(labels, loss);
  metrics::LabelRules rules = metrics::label_rules(options, column.kind);
  rules.has_ignore_index = true;  // targets are as statistics have them
  rules.ignore_index = metrics::kNotScored;
  metrics::LabelRules rounded = rules;
  rounded.kind = OutputKind::probabilities;
  const bool must_round = loss == LossFrom::column && column.kind != OutputKind::probabilities;
  const Taker taker(labels, column.name, loss);
  LabelStatistics found;
  const auto take_window = [&](std::int64_t first, std::int64_t count, std::span<float> values) {
    const Shape shape{count, labels.num_labels};
    const TensorView scores = contiguous_view(values.data(), DType::f32, shape);
    const TensorView targets =
        contiguous_view(stats.targets.data() + first * labels.num_labels, DType::u8, shape);
    if (labels.is_binary) {
      bound_log_odds(std::span(stats.rows).subspan(to_size(first), to_size(count)), values);
    }
    metrics::compute_multilabel_statistics(scores, targets, first, count, rules, found);
    if (found.wrong_kind_row) {
      labels.run.throw_dataset_error(column.name, to_size(first + *found.wrong_kind_row),
                                     "values out of range", metrics::name(rules.kind));
    }
    // The scores gave probabilities as float32. Examined as such, they give what a run has that
    // saved only probabilities.
    if (must_round) {
      std::ranges::copy(found.probabilities, values.begin());
      metrics::compute_multilabel_statistics(scores, targets, first, count, rounded, found);
    }
    taker.take(to_size(first), found, stats);
  };
  labels.run.for_each_window(column.name, labels.row_shape, take_window);
}

}  // namespace tally::compare
