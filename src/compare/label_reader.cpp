#include <algorithm>
#include <array>

#include <tally/base/checked_cast.hpp>
#include <tally/base/task_traits.hpp>

#include "chosen_metrics.hpp"
#include "label_run.hpp"
#include "multilabel_pair.hpp"

namespace tally::compare {
namespace {

using metrics::Definitions;
using metrics::LabelFacts;
using metrics::OutputKind;

constexpr const char* kOneDataSet = "Evaluate both models on one data set.";

struct TwoLabelRuns {
  explicit TwoLabelRuns(const TwoRuns& both) : runs(both), a(both.a), b(both.b) {}

  const TwoRuns& runs;
  LabelRun a, b;
};

// In which of them there is less than that; empty if in neither.
std::string who_lacks(const TwoLabelRuns& labels, SavedLabelScores wanted) {
  return who(labels.runs,
             [&](const KnownRun& known) { return LabelRun(known).saved_scores() < wanted; });
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
  constexpr std::array kOfProbabilities{"brier", "coverage_error", "ranking_loss",
                                        "label_ranking_average_precision"};
  if (std::ranges::find(kOfProbabilities, metric) == kOfProbabilities.end()) return std::nullopt;
  return lack_of_probabilities(labels);
}

void require_same_labels(const TwoLabelRuns& labels, const LabelFacts& a, const LabelFacts& b) {
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

// Predictions at another threshold are made of probabilities.
void require_threshold(const TwoLabelRuns& labels) {
  const std::string lacks = who_lacks(labels, SavedLabelScores::probabilities);
  if (labels.a.threshold == labels.b.threshold || lacks.empty()) return;
  throw Error(ErrorKind::usage,
              format("{} and {} were evaluated at thresholds {} and {}, and {} has no "
                     "probabilities to be compared at one",
                     labels.a.run.name(), labels.b.run.name(), labels.a.settings.threshold,
                     labels.b.settings.threshold, lacks),
              "Evaluate both with one --threshold, or with --save labels,probabilities.");
}

LabelFacts facts_of(const LabelRun& labels, const metrics::MetricOptions& options, LossFrom loss) {
  LabelFacts facts = facts_of_columns(labels);
  if (labels.saved_scores() != SavedLabelScores::predictions_only) {
    add_scores(labels, options, loss, facts);
  }
  count_right(static_cast<float>(options.threshold), facts);
  return facts;
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
  const bool both_outputs = who_lacks(labels, SavedLabelScores::outputs).empty();
  const LossFrom loss = both_outputs ? LossFrom::scores : LossFrom::column;
  LabelFacts facts_a = facts_of(labels.a, options, loss);
  LabelFacts facts_b = facts_of(labels.b, options, loss);
  require_same_labels(labels, facts_a, facts_b);
  const auto keys = runs.a.settings.curves.value_or(ordered_metrics::ScoreKeys::float32);
  pair.samples = std::make_unique<MultilabelPair>(std::move(options), std::move(facts_a),
                                                  std::move(facts_b), keys);
  return pair;
}

}  // namespace tally::compare
