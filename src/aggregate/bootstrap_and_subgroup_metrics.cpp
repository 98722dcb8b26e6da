// SPDX-License-Identifier: Apache-2.0
#include "bootstrap_and_subgroup_metrics.hpp"

#include <algorithm>

#include <tally/base/activity.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/column_values.hpp>
#include <tally/evaluate/resampling.hpp>
#include <tally/session/local_result.hpp>

#include "reduce_states.hpp"

namespace tally::app {
namespace {

// The states of replicates that are held at a time take at most so many bytes, or are one.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

// A metric that is not defined in a replicate adds no value there. Where too many are missing,
// percentile_interval() gives none.
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
    // Proportions keep Wilson's interval, which they have already.
    if (metric.interval || !metric.value || found == replicates.end()) continue;
    metric.interval =
        metrics::percentile_interval(found->second, session.config.results.bootstrap_replicas);
  }
}

void add_bootstrap(const comm::Communicator& comm, const EvaluationSession& session,
                   const LocalUnits& local, metrics::Results& results) {
  const std::int64_t all = session.config.results.bootstrap_replicas;
  // All ranks have the same layout, so that they take part in the same number of reductions.
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kMostBytes / session.scoring.task->resample_layout()->num_bytes(), 1, all);
  const evaluate::RetainedSamples retained = retained_samples(session, local);
  Replicates replicates;
  // Each round reads the retained samples once, for as many replicates as memory allows.
  for (std::int64_t first = 0; first < all; first += at_once) {
    auto states = evaluate::count_replicates(retained, session.config.results.seed, first,
                                             std::min(at_once, all - first));
    reduce_all(comm, session, states);
    if (!comm.is_root()) continue;
    for (const auto& state : states) {
      add_values(session.scoring.task->finalize_resampled(state), replicates);
      made_progress();
    }
  }
  add_intervals(session, replicates, results);
}

std::vector<std::int32_t> group_codes(const EvaluationSession& session, const LocalUnits& local,
                                      const Subgroups& groups) {
  const auto& column = session.data.set->info().columns.groups.at(groups.column);
  const auto samples = session.plan.grid->samples_of(session.plan.slice);
  auto codes =
      data::read_column<std::int32_t>(*session.data.set, column, samples.first, samples.count);
  for (std::int32_t& code : codes) {
    // The values were collected from the same rows before the loop. A code becomes its place among
    // them, which is the number of its state.
    const auto place = std::ranges::lower_bound(groups.values, code);
    if (place == groups.values.end() || *place != code) {
      throw Error(ErrorKind::dataset,
                  format("{} changed while the run went on: {} was not in it", column.path, code));
    }
    code = static_cast<std::int32_t>(place - groups.values.begin());
  }
  if (!session.scoring.capabilities().has_units()) return codes;
  // A unit belongs to the subgroup of its first sample, which this rank has.
  std::vector<std::int32_t> of_units;
  for (const std::int64_t sample : local.unit_samples) {
    of_units.push_back(codes[to_size(sample - samples.first)]);
  }
  return of_units;
}

std::vector<exact::State> count_subgroups(const comm::Communicator& comm,
                                          const EvaluationSession& session, const LocalUnits& local,
                                          const Subgroups& groups,
                                          const std::vector<std::int32_t>& codes) {
  auto states =
      evaluate::count_groups(retained_samples(session, local), std::ssize(groups.values), codes);
  reduce_all(comm, session, states);
  return states;
}

report::GroupMetrics metrics_of(const EvaluationSession& session, const Subgroups& groups,
                                const std::vector<exact::State>& states) {
  report::GroupMetrics values;
  values.name = session.data.set->info().columns.groups.at(groups.column).name;
  for (std::size_t i = 0; i < states.size(); ++i) {
    values.values.push_back(
        {groups.values[i], session.scoring.task->finalize_resampled(states[i])});
  }
  return values;
}

}  // namespace tally::app
