#include "bootstrap.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/evaluate/again.hpp>

#include "kept_rows.hpp"
#include "reduction.hpp"

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

void add_intervals(const Job& job, const Replicates& replicates, metrics::Results& results) {
  for (auto& metric : results.metrics) {
    const auto found = replicates.find(metric.name);
    if (metric.interval || !metric.value || found == replicates.end()) continue;
    metric.interval = metrics::percentile_interval(found->second, job.config.bootstrap_replicas);
  }
}

void add_bootstrap(const comm::Communicator& comm, const Job& job, const LoopResult& mine,
                   metrics::Results& results) {
  const std::int64_t all = job.config.bootstrap_replicas;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kMostBytes / job.task->layout_again()->num_bytes(), 1, all);
  const evaluate::KeptSamples kept = kept_samples(job, mine);
  Replicates replicates;
  for (std::int64_t first = 0; first < all; first += at_once) {
    auto states =
        evaluate::count_replicates(kept, job.config.seed, first, std::min(at_once, all - first));
    reduce_all(comm, job, states);
    if (!comm.is_root()) continue;
    for (const auto& state : states) add_values(job.task->finalize_again(state), replicates);
  }
  add_intervals(job, replicates, results);
}

}  // namespace tally::app
