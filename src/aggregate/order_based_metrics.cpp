// SPDX-License-Identifier: Apache-2.0
#include "order_based_metrics.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/task_traits.hpp>
#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>
#include <tally/distributed_metrics/global_spearman.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>
#include <tally/session/local_result.hpp>

#include "bootstrap_and_subgroup_metrics.hpp"

namespace tally::app {
namespace {

// bfloat16 keys bound memory: a class then has at most 16,257 thresholds for scores in [0, 1].
ordered_metrics::ScoreKeys keys_of(const EvaluationSession& session) {
  return session.config.scoring.curves == "bf16" ? ordered_metrics::ScoreKeys::bfloat16
                                                 : ordered_metrics::ScoreKeys::float32;
}

ordered_metrics::CurveRules rules_of(const EvaluationSession& session) {
  const bool one_class_each = is_task(session.scoring.task_name, TaskKind::multiclass);
  return {one_class_each ? ordered_metrics::Targets::multiclass : ordered_metrics::Targets::labels,
          metrics::definitions_from_name(session.config.scoring.definitions)};
}

std::vector<std::string> names_of(const EvaluationSession& session) {
  return ordered_metrics::curve_metric_names(session.scoring.task->metrics());
}

// Describes this rank's scores for curves. They are read window by window when they are needed, and
// more than once: the log may have spilled to disk, and is never held as a whole. Session and local
// result outlive the rows.
ordered_metrics::ScoreRows score_rows_of(const EvaluationSession& session,
                                         const LocalUnits& local) {
  const evaluate::RetainedSamples retained = retained_samples(session, local);
  const tasks::ClassScores& classes = tasks::class_scores_of(*session.scoring.task);
  return {.num_rows = retained.log.num_rows(),
          .num_classes = classes.num_score_classes(),
          .first_index = retained.first_index,
          .read = [retained, &classes](std::int64_t first, std::int64_t count,
                                       std::span<float> scores, std::span<std::uint8_t> targets) {
            predictions::RecordBatch window;
            evaluate::read_window(retained, first, count, window);
            classes.one_vs_rest_scores(window, scores, targets);
          }};
}

}  // namespace

std::vector<ordered_metrics::CurveCounts> count_all_curves(const comm::Communicator& comm,
                                                           const EvaluationSession& session,
                                                           const LocalUnits& local) {
  // All ranks have the same metrics, so that all return here or none.
  if (names_of(session).empty()) return {};
  return distributed_metrics::count_curves(comm, score_rows_of(session, local), keys_of(session));
}

std::vector<ordered_metrics::CurveCounts> count_curves_of(const comm::Communicator& comm,
                                                          const EvaluationSession& session,
                                                          const LocalUnits& local,
                                                          const std::vector<std::int32_t>& codes,
                                                          std::int32_t code) {
  // Samples of other subgroups stay where they are and get targets that do not count, so that rows
  // keep their places.
  ordered_metrics::ScoreRows rows = score_rows_of(session, local);
  count_only(codes, code, ordered_metrics::kNotCounted, rows);
  return distributed_metrics::count_curves(comm, rows, keys_of(session));
}

void add_curve_metrics(const EvaluationSession& session,
                       const std::vector<ordered_metrics::CurveCounts>& curves,
                       metrics::Results& results) {
  if (curves.empty()) return;
  auto values = ordered_metrics::curve_metrics(curves, names_of(session), rules_of(session));
  for (auto& value : values) {
    // Some definitions give 0 for a class without positives or negatives. Where nothing was scored
    // at all there is no value.
    if (results.counts.scored == 0) value.value.reset();
    results.metrics.push_back(std::move(value));
  }
  // A binary task has one curve, whose values are its metrics.
  if (!is_task(session.scoring.task_name, TaskKind::binary))
    ordered_metrics::add_class_metrics(curves, names_of(session), results.per_class);
}

void add_curve_intervals(const comm::Communicator& comm, const EvaluationSession& session,
                         const LocalUnits& local,
                         const std::vector<ordered_metrics::CurveCounts>& whole,
                         metrics::Results& results) {
  // A replicate gives no value for a metric whose class lost all its positives or negatives there:
  // what the definitions put in its place would make the values jump.
  const auto names = names_of(session);
  if (names.empty()) return;
  const distributed_metrics::ReplicateValues replicate_values{
      std::ssize(names), [&](std::span<const ordered_metrics::CurveCounts> curves,
                             std::span<std::optional<double>> values) {
        const auto made =
            ordered_metrics::replicate_metrics(curves, whole, names, rules_of(session));
        for (std::size_t i = 0; i < made.size(); ++i) values[i] = made[i].value;
      }};
  const distributed_metrics::CurveBootstrap options{
      .seed = static_cast<std::uint64_t>(session.config.results.seed),
      .num_replicates = session.config.results.bootstrap_replicas,
      .keys = keys_of(session)};
  Replicates replicates;
  for (const auto& of_replicate : distributed_metrics::bootstrap_curves(
           comm, score_rows_of(session, local), options, replicate_values)) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (of_replicate[i]) replicates[names[i]].push_back(*of_replicate[i]);
    }
  }
  add_intervals(session, replicates, results);
}

std::vector<report::Curve> points_of(const std::vector<ordered_metrics::CurveCounts>& curves) {
  std::vector<report::Curve> points;
  for (const ordered_metrics::CurveCounts& counts : curves) {
    report::Curve& curve = points.emplace_back();
    for (const auto& point : ordered_metrics::roc_points(counts)) {
      curve.false_positive_rate.push_back(point.false_positive_rate);
      curve.true_positive_rate.push_back(point.true_positive_rate);
      curve.roc_threshold.push_back(point.threshold);
      // A point counts the scores above its threshold, or those equal to it, too; a reader of
      // metrics.h5 needs to know which.
      curve.roc_includes_threshold.push_back(point.side ==
                                             ordered_metrics::ThresholdSide::at_least);
    }
    for (const auto& point : ordered_metrics::precision_recall_points(counts)) {
      curve.precision.push_back(point.precision);
      curve.recall.push_back(point.recall);
      curve.threshold.push_back(point.threshold);
    }
  }
  return points;
}

namespace {

constexpr const char* kSpearman = "spearman";

bool is_wanted(const EvaluationSession& session) {
  return metrics::contains(session.scoring.task->metrics(), kSpearman);
}

ordered_metrics::PairRows pair_rows_of(const EvaluationSession& session, const LocalUnits& local) {
  const evaluate::RetainedSamples retained = retained_samples(session, local);
  const tasks::ValuePairs& pairs = tasks::value_pairs_of(*session.scoring.task);
  return {.num_rows = retained.log.num_rows(),
          .num_outputs = pairs.num_pair_outputs(),
          .first_index = retained.first_index,
          .read = [retained, &pairs](std::int64_t first, std::int64_t count,
                                     std::span<float> predictions, std::span<float> targets) {
            predictions::RecordBatch window;
            evaluate::read_window(retained, first, count, window);
            pairs.prediction_target_pairs(window, predictions, targets);
          }};
}

}  // namespace

std::vector<ordered_metrics::SpearmanSums> sum_all_spearman(const comm::Communicator& comm,
                                                            const EvaluationSession& session,
                                                            const LocalUnits& local) {
  if (!is_wanted(session)) return {};
  return distributed_metrics::sum_spearman(comm, pair_rows_of(session, local));
}

std::vector<ordered_metrics::SpearmanSums> sum_spearman_of(const comm::Communicator& comm,
                                                           const EvaluationSession& session,
                                                           const LocalUnits& local,
                                                           const std::vector<std::int32_t>& codes,
                                                           std::int32_t code) {
  ordered_metrics::PairRows rows = pair_rows_of(session, local);
  // A target that is NaN does not count.
  count_only(codes, code, std::numeric_limits<float>::quiet_NaN(), rows);
  return distributed_metrics::sum_spearman(comm, rows);
}

void add_spearman(const std::vector<ordered_metrics::SpearmanSums>& sums,
                  metrics::Results& results) {
  if (sums.empty()) return;
  results.metrics.push_back({kSpearman, ordered_metrics::mean_spearman(sums)});
  for (std::size_t i = 0; i < std::min(sums.size(), results.per_class.size()); ++i) {
    results.per_class[i].values.push_back({kSpearman, ordered_metrics::spearman(sums[i])});
  }
}

void add_spearman_intervals(const comm::Communicator& comm, const EvaluationSession& session,
                            const LocalUnits& local, metrics::Results& results) {
  if (!is_wanted(session)) return;
  Replicates replicates;
  for (const auto& of_replicate : distributed_metrics::bootstrap_spearman(
           comm, pair_rows_of(session, local),
           static_cast<std::uint64_t>(session.config.results.seed),
           session.config.results.bootstrap_replicas)) {
    // A replicate has no value where predictions or targets of an output have no variance.
    if (const auto value = ordered_metrics::mean_spearman(of_replicate))
      replicates[kSpearman].push_back(*value);
  }
  add_intervals(session, replicates, results);
}

}  // namespace tally::app
