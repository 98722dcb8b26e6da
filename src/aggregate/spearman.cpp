#include "spearman.hpp"

#include <algorithm>
#include <limits>

#include <tally/distributed_metrics/spearman_sums.hpp>
#include <tally/metrics/names.hpp>
#include <tally/session/retained_samples.hpp>

#include "bootstrap.hpp"

namespace tally::app {
namespace {

constexpr const char* kSpearman = "spearman";

bool is_wanted(const EvaluationSession& session) {
  return metrics::contains(session.scoring.task->metrics(), kSpearman);
}

ordered_metrics::PairRows rows_of(const EvaluationSession& session, const LocalUnits& local) {
  const evaluate::RetainedSamples retained = retained_samples(session, local);
  const tasks::ValuePairs& pairs = tasks::value_pairs_of(*session.scoring.task);
  return {.num_rows = retained.log.num_rows(),
          .num_outputs = pairs.num_pair_outputs(),
          .first_index = retained.first_index,
          .read = [retained, &pairs](std::int64_t first, std::int64_t count,
                                     std::span<float> predictions, std::span<float> targets) {
            predictions::RecordBatch window;
            evaluate::read_window(retained, first, count, window);
            pairs.pairs_of(window, predictions, targets);
          }};
}

}  // namespace

std::vector<ordered_metrics::SpearmanSums> sum_all_spearman(const comm::Communicator& comm,
                                                            const EvaluationSession& session,
                                                            const LocalUnits& local) {
  if (!is_wanted(session)) return {};
  return distributed_metrics::sum_spearman(comm, rows_of(session, local));
}

std::vector<ordered_metrics::SpearmanSums> sum_spearman_of(const comm::Communicator& comm,
                                                           const EvaluationSession& session,
                                                           const LocalUnits& local,
                                                           const std::vector<std::int32_t>& codes,
                                                           std::int32_t code) {
  ordered_metrics::PairRows rows = rows_of(session, local);
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
           comm, rows_of(session, local), static_cast<std::uint64_t>(session.config.results.seed),
           session.config.results.bootstrap_replicas)) {
    if (const auto value = ordered_metrics::mean_spearman(of_replicate))
      replicates[kSpearman].push_back(*value);
  }
  add_intervals(session, replicates, results);
}

}  // namespace tally::app
