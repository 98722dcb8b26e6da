// SPDX-License-Identifier: Apache-2.0
#include "multilabel_pair.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/task_traits.hpp>

#include "comparable_metrics.hpp"
#include "multilabel_run.hpp"
#include "paired_samples.hpp"

namespace tally::compare {
namespace {

using metrics::LabelSample;
using metrics::MultilabelRecord;

// Without finite outputs none is counted as right, so that such a sample is wrong.
bool is_right(const MultilabelRecord& row) { return row.right == row.scored; }

// What one run predicts at a threshold.
class Predicted {
 public:
  Predicted(const LabelSample& sample, float threshold) : sample_(sample), threshold_(threshold) {}

  bool has_label(std::int64_t i) const { return sample_.probabilities[i] > threshold_; }

  // has_scores: else the probability only stands for what is predicted.
  ClassPrediction as_class(bool has_scores) const {
    const float probability = sample_.probabilities[0];
    if (!sample_.row.finite) return {-1, probability};
    if (!has_scores) return {has_label(0) ? 1 : 0, std::numeric_limits<double>::quiet_NaN()};
    return has_label(0) ? ClassPrediction{1, probability} : ClassPrediction{0, 1.0f - probability};
  }

  LabelSetPrediction as_set() const {
    LabelSetPrediction made{.labels = std::nullopt, .right = sample_.row.right};
    if (!sample_.row.finite) return made;
    made.labels.emplace();
    for (std::int64_t i = 0; i < sample_.num_labels; ++i) {
      if (sample_.targets[i] != metrics::kNotScored && has_label(i)) made.labels->push_back(i);
    }
    return made;
  }

 private:
  LabelSample sample_;
  float threshold_;
};

std::vector<std::int64_t> labels_set(const LabelSample& sample) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < sample.num_labels; ++i) {
    if (sample.targets[i] == 1) labels.push_back(i);
  }
  return labels;
}

// A view of samples [first, first + count), which copies nothing.
metrics::MultilabelRecords part_of(const metrics::LabelStatistics& stats, std::int64_t first,
                                   std::int64_t count) {
  const metrics::MultilabelRecords all = stats.view();
  const std::size_t labels = all.targets.size() / all.rows.size();
  const auto from = to_size(first) * labels;
  const auto num_labels = to_size(count) * labels;
  return {all.rows.subspan(to_size(first), to_size(count)),
          all.probabilities.subspan(from, num_labels), all.targets.subspan(from, num_labels)};
}

}  // namespace

MultilabelPair::MultilabelPair(metrics::MetricOptions options, metrics::LabelStatistics a,
                               metrics::LabelStatistics b, ordered_metrics::ScoreKeys keys)
    : metrics_(std::move(options)), a_(std::move(a)), b_(std::move(b)), keys_(keys) {
  if (a_.targets != b_.targets) {
    throw Error(ErrorKind::internal, "runs of other labels are paired");
  }
}

std::uint64_t MultilabelPair::index_of(std::int64_t sample) const {
  return a_.rows[to_size(sample)].index;
}

metrics::PrecomputedUpdates MultilabelPair::prepare(Side side, std::int64_t first,
                                                    std::int64_t count) const {
  return {metrics_, part_of(side == Side::a ? a_ : b_, first, count)};
}

std::unique_ptr<CurveMetrics> MultilabelPair::ordered(Side side) const {
  if (!metrics_.needs_order()) return nullptr;
  const metrics::MetricOptions& options = metrics_.options();
  const metrics::LabelStatistics& stats = side == Side::a ? a_ : b_;
  const ordered_metrics::ScoreRows scores{
      .num_rows = size(),
      .num_classes = is_binary() ? 1 : options.num_classes,
      .first_index = stats.rows.empty() ? 0 : static_cast<std::int64_t>(stats.rows.front().index),
      .read = [&](std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<std::uint8_t> targets) {
        const auto window = part_of(stats, first, count);
        std::ranges::copy(window.probabilities, values.begin());
        std::ranges::copy(window.targets, targets.begin());
        for (const MultilabelRecord& row : window.rows) {
          const auto of_row = targets.first(window.targets.size() / window.rows.size());
          // A counted score that is not finite would be an Error(numeric).
          if (!row.finite) std::ranges::fill(of_row, ordered_metrics::kNotCounted);
          targets = targets.subspan(of_row.size());
        }
      }};
  return make_curve_metrics(options.names, scores, keys_,
                            {ordered_metrics::Targets::labels, options.definitions});
}

std::int64_t MultilabelPair::num_ignored() const {
  return std::ranges::count_if(a_.rows, &MultilabelRecord::is_ignored);
}

std::optional<Outcomes> MultilabelPair::outcomes() const {
  Outcomes outcomes{.metric = is_binary() ? "accuracy" : "exact_match", .table = {}};
  for (std::size_t i = 0; i < a_.rows.size(); ++i) {
    if (a_.rows[i].is_ignored()) continue;
    outcomes.table.add(is_right(a_.rows[i]), is_right(b_.rows[i]));
  }
  return outcomes;
}

bool MultilabelPair::is_changed(std::size_t sample) const {
  // If neither is finite, all probabilities are NaN, no label is predicted, and nothing differs.
  if (a_.rows[sample].finite != b_.rows[sample].finite) return true;
  const LabelSample a = a_.view().sample(sample);
  const LabelSample b = b_.view().sample(sample);
  const auto threshold = static_cast<float>(metrics_.options().threshold);
  for (std::int64_t i = 0; i < a.num_labels; ++i) {
    const bool differs =
        Predicted(a, threshold).has_label(i) != Predicted(b, threshold).has_label(i);
    if (differs && a.targets[i] != metrics::kNotScored) return true;
  }
  return false;
}

template <class Made, class Change>
Made MultilabelPair::list_changes(std::int64_t most, const Change& change_of) const {
  Made changes;
  for (std::size_t i = 0; i < a_.rows.size(); ++i) {
    if (a_.rows[i].is_ignored() || !is_changed(i)) continue;
    changes.counts.add(is_right(a_.rows[i]), is_right(b_.rows[i]));
    if (std::ssize(changes.first) < most) changes.first.push_back(change_of(i));
  }
  return changes;
}

Changes MultilabelPair::changes(std::int64_t most) const {
  const auto threshold = static_cast<float>(metrics_.options().threshold);
  const auto predicted = [&](const metrics::LabelStatistics& stats, std::size_t i) {
    return Predicted(stats.view().sample(i), threshold);
  };
  if (is_binary()) {
    return list_changes<ClassChanges>(most, [&](std::size_t i) -> ClassChange {
      return {.index = static_cast<std::int64_t>(a_.rows[i].index),
              .label = a_.targets[i],
              .a = predicted(a_, i).as_class(metrics_.options().has_scores),
              .b = predicted(b_, i).as_class(metrics_.options().has_scores)};
    });
  }
  return list_changes<LabelSetChanges>(most, [&](std::size_t i) -> LabelSetChange {
    return {.index = static_cast<std::int64_t>(a_.rows[i].index),
            .scored = a_.rows[i].scored,
            .labels = labels_set(a_.view().sample(i)),
            .a = predicted(a_, i).as_set(),
            .b = predicted(b_, i).as_set()};
  });
}

namespace {

using metrics::Definitions;
using metrics::LabelStatistics;
using metrics::OutputKind;

constexpr const char* kOneDataSet = "Evaluate both models on one data set.";

struct TwoLabelRuns {
  explicit TwoLabelRuns(const TwoRuns& both)
      : runs(both), a(both.a, have_scores(both)), b(both.b, have_scores(both)) {}

  const TwoRuns& runs;
  LabelRun a, b;
};

// The runs that hold less than `wanted` (the values of the enum ascend); empty if neither does.
std::string who_lacks(const TwoLabelRuns& labels, SavedLabelScores wanted) {
  return who(labels.runs, [&](const KnownRun& known) {
    return LabelRun(known, labels.a.uses_scores).saved_scores() < wanted;
  });
}

std::optional<std::string> lack_of_probabilities(const TwoLabelRuns& labels) {
  const std::string lacks = who_lacks(labels, SavedLabelScores::probabilities);
  if (lacks.empty()) return std::nullopt;
  const auto returns_none = [](const KnownRun& known) {
    return known.settings.outputs != OutputKind::logits;
  };
  return lack_of_column("probabilities", lacks, who(labels.runs, returns_none).empty());
}

std::optional<std::string> lack_of_outputs(const TwoLabelRuns& labels) {
  const std::string lacks = who_lacks(labels, SavedLabelScores::outputs);
  if (lacks.empty()) return std::nullopt;
  const std::string not_saved = who(labels.runs, [](const KnownRun& known) {
    return known.settings.outputs != OutputKind::logits;
  });
  if (not_saved.empty()) return lack_of_column("logits", lacks);
  return format("is made of what the model returns, which is saved of logits only, not in {}",
                not_saved);
}

// Why a metric cannot be compared; none if it can.
std::optional<std::string> obstacle_of(const std::string& metric, const TwoLabelRuns& labels) {
  const auto task = task_name(labels.a.is_binary ? TaskKind::binary : TaskKind::multilabel);
  if (metrics::description_of(task, metric).value().needs_order) {
    const auto lack = lack_of_probabilities(labels);
    const std::int64_t num_scores = labels.a.run.num_samples() * labels.a.num_labels;
    return lack ? lack : obstacle_of_curves(labels.runs, num_scores);
  }
  if (metric == "hinge" && labels.a.settings.definitions == Definitions::sklearn) {
    return lack_of_outputs(labels);
  }
  // What is not named here is made of what each of these files holds.
  constexpr std::array kOfProbabilities{"brier", "coverage_error", "ranking_loss",
                                        "label_ranking_average_precision"};
  if (std::ranges::find(kOfProbabilities, metric) == kOfProbabilities.end()) return std::nullopt;
  return lack_of_probabilities(labels);
}

void require_same_labels(const TwoLabelRuns& labels, const LabelStatistics& a,
                         const LabelStatistics& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a.targets, b.targets);
  if (in_a == a.targets.end()) return;
  const auto text = [](std::uint8_t target) {
    return target == metrics::kNotScored ? std::string("not scored") : format("{}", target);
  };
  const std::int64_t place = in_a - a.targets.begin();
  throw Error(ErrorKind::dataset,
              format("{} and {} differ in the labels: /label[{}]{} is {} and {}",
                     labels.a.run.name(), labels.b.run.name(), place / labels.a.num_labels,
                     labels.a.is_binary ? "" : format("[{}]", place % labels.a.num_labels),
                     text(*in_a), text(*in_b)),
              kOneDataSet);
}

// Predictions at another threshold are made of probabilities; classes alone stay as they are.
void require_threshold(const TwoLabelRuns& labels) {
  if (!have_scores(labels.runs)) return;
  const std::string lacks = who_lacks(labels, SavedLabelScores::probabilities);
  if (labels.a.threshold == labels.b.threshold || lacks.empty()) return;
  throw Error(ErrorKind::usage,
              format("{} and {} were evaluated at thresholds {} and {}, and there are no "
                     "probabilities in {} to compare both at one",
                     labels.a.run.name(), labels.b.run.name(), labels.a.settings.threshold,
                     labels.b.settings.threshold, lacks),
              "Evaluate both with one --threshold, or with --save labels,probabilities.");
}

LabelStatistics statistics_of(const LabelRun& labels, const metrics::MetricOptions& options,
                              LossFrom loss) {
  LabelStatistics stats = statistics_of_columns(labels);
  if (labels.saved_scores() != SavedLabelScores::predictions_only) {
    add_scores(labels, options, loss, stats);
  }
  // A's threshold holds for both runs, so that labels are counted at it and not as they were.
  count_right(static_cast<float>(options.threshold), stats);
  return stats;
}

}  // namespace

ReadPair read_label_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names) {
  const TwoRuns runs{KnownRun(a), KnownRun(b)};
  const TwoLabelRuns labels(runs);
  require_threshold(labels);
  ReadPair pair;
  const auto obstacle = [&](const std::string& metric) { return obstacle_of(metric, labels); };
  auto options = choose_metrics(a.attribute("task"), runs, names, obstacle, pair);
  // Where one run has the better scores, both are measured by the lesser ones of the other.
  const bool both_outputs = who_lacks(labels, SavedLabelScores::outputs).empty();
  const LossFrom loss = both_outputs ? LossFrom::scores : LossFrom::column;
  LabelStatistics stats_a = statistics_of(labels.a, options, loss);
  LabelStatistics stats_b = statistics_of(labels.b, options, loss);
  require_same_labels(labels, stats_a, stats_b);
  const auto keys = runs.a.settings.curves.value_or(ordered_metrics::ScoreKeys::float32);
  pair.samples = std::make_unique<MultilabelPair>(std::move(options), std::move(stats_a),
                                                  std::move(stats_b), keys);
  return pair;
}

}  // namespace tally::compare
