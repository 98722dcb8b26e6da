// SPDX-License-Identifier: Apache-2.0
#include "multiclass_pair.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/task_traits.hpp>

#include "comparable_metrics.hpp"
#include "multiclass_run.hpp"
#include "paired_samples.hpp"

namespace tally::compare {
namespace {

using metrics::MulticlassRecord;

ClassPrediction prediction_of(const MulticlassRecord& row) {
  return {row.prediction, row.confidence};
}

// Fills targets, [rows, classes], with one problem for each class: this class against all others. A
// row that is ignored or has no finite outputs takes part in none of them.
void fill_targets(std::span<const MulticlassRecord> rows, std::span<std::uint8_t> targets) {
  const std::size_t classes = targets.size() / rows.size();
  for (const MulticlassRecord& row : rows) {
    const auto of_row = targets.first(classes);
    const bool counts = !row.ignored && row.finite;
    std::ranges::fill(of_row, counts ? ordered_metrics::kNegative : ordered_metrics::kNotCounted);
    if (counts) of_row[to_size(row.label)] = ordered_metrics::kPositive;
    targets = targets.subspan(classes);
  }
}

}  // namespace

MulticlassPair::MulticlassPair(metrics::MetricOptions options, std::vector<MulticlassRecord> a,
                               std::vector<MulticlassRecord> b, ClassScores scores)
    : metrics_(std::move(options)), a_(std::move(a)), b_(std::move(b)), scores_(std::move(scores)) {
  if (a_.size() != b_.size()) throw Error(ErrorKind::internal, "runs of unequal length are paired");
}

std::uint64_t MulticlassPair::index_of(std::int64_t sample) const {
  return a_[to_size(sample)].index;
}

metrics::PrecomputedUpdates MulticlassPair::prepare(Side side, std::int64_t first,
                                                    std::int64_t count) const {
  const std::span<const MulticlassRecord> rows = side == Side::a ? a_ : b_;
  return {metrics_, rows.subspan(to_size(first), to_size(count))};
}

std::unique_ptr<CurveMetrics> MulticlassPair::ordered(Side side) const {
  if (!metrics_.needs_order()) return nullptr;
  const metrics::MetricOptions& options = metrics_.options();
  const auto& rows = side == Side::a ? a_ : b_;
  const auto& read = side == Side::a ? scores_.a : scores_.b;
  const ordered_metrics::ScoreRows scores{
      .num_rows = size(),
      .num_classes = options.num_classes,
      .first_index = rows.empty() ? 0 : static_cast<std::int64_t>(rows.front().index),
      .read = [&](std::int64_t first, std::int64_t count, std::span<float> values,
                  std::span<std::uint8_t> targets) {
        read(first, count, values);
        fill_targets(std::span(rows).subspan(to_size(first), to_size(count)), targets);
      }};
  return make_curve_metrics(options.names, scores, scores_.keys,
                            {ordered_metrics::Targets::multiclass, options.definitions});
}

std::int64_t MulticlassPair::num_ignored() const {
  return std::ranges::count(a_, true, &MulticlassRecord::ignored);
}

std::optional<Outcomes> MulticlassPair::outcomes() const {
  Outcomes outcomes{.metric = "accuracy", .table = {}};
  for (std::size_t i = 0; i < a_.size(); ++i) {
    // A sample without finite outputs has the rank -1 and so counts as wrong.
    if (!a_[i].ignored) outcomes.table.add(a_[i].is_right(), b_[i].is_right());
  }
  return outcomes;
}

Changes MulticlassPair::changes(std::int64_t most) const {
  ClassChanges changes;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const MulticlassRecord& a = a_[i];
    const MulticlassRecord& b = b_[i];
    if (a.ignored || a.prediction == b.prediction) continue;
    changes.counts.add(a.is_right(), b.is_right());
    // All changes are counted, whether they are listed or not.
    if (std::ssize(changes.first) >= most) continue;
    changes.first.push_back({.index = static_cast<std::int64_t>(a.index),
                             .label = a.label,
                             .a = prediction_of(a),
                             .b = prediction_of(b)});
  }
  return changes;
}

namespace {

std::string_view this_task() { return task_name(TaskKind::multiclass); }

using metrics::Definitions;
using metrics::MulticlassRecord;

// Equal identities are only what the files say, and a damaged file may hold other labels.
void require_same_labels(const SavedRun& a, const std::vector<MulticlassRecord>& rows_a,
                         const SavedRun& b, const std::vector<MulticlassRecord>& rows_b) {
  // Where several classes are right for a sample, each model has the one that it ranks best.
  if (a.find_attribute("label_sets") && b.find_attribute("label_sets")) return;
  const auto [in_a, in_b] =
      std::ranges::mismatch(rows_a, rows_b, {}, &MulticlassRecord::label, &MulticlassRecord::label);
  if (in_a == rows_a.end()) return;
  throw Error(ErrorKind::dataset,
              format("{} and {} differ in the labels: /label[{}] is {} and {}", a.name(), b.name(),
                     in_a - rows_a.begin(), in_a->label, in_b->label),
              a.find_attribute("classes_by")
                  ? "--classes-by name numbers them as each model does: give both models one order."
                  : "Evaluate both models on one data set.");
}

bool has_no_scores(const KnownRun& known) {
  return saved_scores(known.run, known.settings) == SavedScores::none;
}
bool has_no_outputs(const KnownRun& known) {
  return saved_scores(known.run, known.settings) != SavedScores::outputs;
}
bool has_class_weights(const KnownRun& known) { return known.settings.has_class_weights; }

std::optional<std::string> lack_of_scores(const TwoRuns& runs, bool wants_outputs) {
  const std::string who_lacks = who(runs, wants_outputs ? has_no_outputs : has_no_scores);
  if (who_lacks.empty()) return std::nullopt;
  // A model that returns probabilities has no logits to be saved: the probabilities are its
  // outputs.
  const bool has_logits = runs.a.settings.outputs != metrics::OutputKind::probabilities &&
                          runs.b.settings.outputs != metrics::OutputKind::probabilities;
  if (wants_outputs && has_logits) return lack_of_column("logits", who_lacks);
  return lack_of_column("probabilities", who_lacks, has_logits && !wants_outputs);
}

std::optional<std::string> obstacle_of_loss(const TwoRuns& runs) {
  const std::string weighted = who(runs, has_class_weights);
  if (!weighted.empty()) {
    return format("was weighted by --class-weights in {}, which are not saved", weighted);
  }
  if (runs.a.settings.label_smoothing != runs.b.settings.label_smoothing) {
    return format("has another --label-smoothing in A ({}) than in B ({})",
                  runs.a.settings.label_smoothing, runs.b.settings.label_smoothing);
  }
  return std::nullopt;
}

// Why a metric cannot be compared; none if it can.
std::optional<std::string> obstacle_of(const std::string& metric, const TwoRuns& runs) {
  if (metrics::description_of(this_task(), metric).value().needs_order) {
    const auto lack = lack_of_scores(runs, false);
    const std::int64_t num_scores = runs.a.run.num_samples() * runs.a.settings.num_classes;
    return lack ? lack : obstacle_of_curves(runs, num_scores);
  }
  if (metric == "loss") return obstacle_of_loss(runs);
  // The Brier score needs all probabilities. The hinge loss of scikit-learn is measured on what the
  // model returns, that of torchmetrics on probabilities.
  if (metric == "brier") return lack_of_scores(runs, false);
  if (metric != "hinge") return std::nullopt;
  return lack_of_scores(runs, runs.a.settings.definitions == Definitions::sklearn);
}

void add_scores_of_both(const TwoRuns& runs, const metrics::MetricOptions& options,
                        std::vector<MulticlassRecord>& a, std::vector<MulticlassRecord>& b) {
  // From outputs on both sides every value is computed as in the reports. Otherwise the columns
  // give all but what needs scores, and scores are read only where a metric needs them.
  if (!options.has_scores) return;
  const bool both_outputs = !has_no_outputs(runs.a) && !has_no_outputs(runs.b);
  const bool wants_scores = std::ranges::any_of(options.names, [](const std::string& metric) {
    return metric == "brier" || metric == "hinge" ||
           metrics::description_of(this_task(), metric).value().needs_order;
  });
  if (!both_outputs && !wants_scores) return;
  const FromScores what = both_outputs ? FromScores::all : FromScores::brier_and_hinge;
  add_scores(runs.a.run, runs.a.settings, options, what, a);
  add_scores(runs.b.run, runs.b.settings, options, what, b);
}

// The readers of scores, where a metric needs them in order. They keep the files open as long as
// they live.
ClassScores scores_in_order(const TwoRuns& runs, const metrics::MetricOptions& options) {
  if (!metrics::MetricSet(options).needs_order()) return {};
  // obstacle_of_curves() has ensured that A's file says how its curves were made.
  return {.a = probabilities_of(runs.a.run, runs.a.settings),
          .b = probabilities_of(runs.b.run, runs.b.settings),
          .keys = runs.a.settings.curves.value()};
}

}  // namespace

ReadPair read_class_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names) {
  const TwoRuns runs{KnownRun(a), KnownRun(b)};
  ReadPair pair;
  const auto obstacle = [&](const std::string& metric) { return obstacle_of(metric, runs); };
  auto options = choose_metrics(std::string(this_task()), runs, names, obstacle, pair);
  const auto read = options.has_scores ? rows_of_columns : rows_of_classes;
  auto rows_a = read(a, runs.a.settings);
  auto rows_b = read(b, runs.b.settings);
  require_same_labels(a, rows_a, b, rows_b);
  add_scores_of_both(runs, options, rows_a, rows_b);
  ClassScores scores = scores_in_order(runs, options);
  pair.samples = std::make_unique<MulticlassPair>(std::move(options), std::move(rows_a),
                                                  std::move(rows_b), std::move(scores));
  return pair;
}

}  // namespace tally::compare
