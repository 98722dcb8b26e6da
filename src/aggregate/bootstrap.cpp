#include "bootstrap.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/resampling.hpp>
#include <tally/session/retained_samples.hpp>

#include "reduce_states.hpp"

namespace tally::app {
namespace {

// Of the states of replicates that are held at a time.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

void add_values(const metrics::Results& results, Replicates& replicates) {
  for (const auto& metric : results.metrics) {
    if (metric.value) replicates[metric.name].push_back(*metric.value);
  }
}

}  // namespace

void add_intervals(const EvaluationSession& session, const Replicates& replicates,
                   metrics::Results& results) {
  for (auto& metric : results.metrics) {
    const auto found = replicates.find(metric.name);
    if (metric.interval || !metric.value || found == replicates.end()) continue;
    metric.interval =
        metrics::percentile_interval(found->second, session.config.results.bootstrap_replicas);
  }
}

void add_bootstrap(const comm::Communicator& comm, const EvaluationSession& session,
                   const LocalUnits& local, metrics::Results& results) {
  const std::int64_t all = session.config.results.bootstrap_replicas;
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kMostBytes / session.scoring.task->resample_layout()->num_bytes(), 1, all);
  const evaluate::RetainedSamples retained = retained_samples(session, local);
  Replicates replicates;
  for (std::int64_t first = 0; first < all; first += at_once) {
    auto states = evaluate::count_replicates(retained, session.config.results.seed, first,
                                             std::min(at_once, all - first));
    reduce_all(comm, session, states);
    if (!comm.is_root()) continue;
    for (const auto& state : states)
      add_values(session.scoring.task->finalize_resampled(state), replicates);
  }
  add_intervals(session, replicates, results);
}

}  // namespace tally::app
