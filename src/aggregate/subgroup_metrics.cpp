#include "subgroup_metrics.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/data/groups.hpp>
#include <tally/data/read_column.hpp>
#include <tally/evaluate/resampling.hpp>
#include <tally/session/retained_samples.hpp>

#include "reduce_states.hpp"

namespace tally::app {

std::vector<std::int32_t> group_codes(const EvaluationSession& session, const LocalUnits& local,
                                      const Subgroups& groups) {
  const auto& column = session.data.set->info().groups.at(groups.column);
  const auto samples = session.plan.grid->samples_of(session.plan.slice);
  auto codes =
      data::read_column<std::int32_t>(*session.data.set, column, samples.first, samples.count);
  for (std::int32_t& code : codes) {
    const auto place = std::ranges::lower_bound(groups.values, code);
    if (place == groups.values.end() || *place != code) {
      throw Error(ErrorKind::dataset,
                  format("{} changed while the run went on: {} was not in it", column.path, code));
    }
    code = static_cast<std::int32_t>(place - groups.values.begin());
  }
  if (!session.scoring.capabilities().has_units()) return codes;
  // A unit is where its first sample is.
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
  values.name = session.data.set->info().groups.at(groups.column).name;
  for (std::size_t i = 0; i < states.size(); ++i) {
    values.values.push_back(
        {groups.values[i], session.scoring.task->finalize_resampled(states[i])});
  }
  return values;
}

}  // namespace tally::app
