// SPDX-License-Identifier: Apache-2.0
#include <tally/aggregate/unit_aggregation.hpp>

#include <tally/aggregate/unit_makers.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/column_values.hpp>
#include <tally/session/session.hpp>

namespace tally::app {
namespace {

// Collective. Of each rank some bytes, on every rank.
std::vector<std::vector<std::byte>> gather_carry_overs(const comm::Communicator& comm,
                                                       const std::vector<std::byte>& local) {
  const auto counts = comm.all_gather(std::ssize(local));
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  std::vector<std::byte> all(to_size(total));
  comm.all_gather_rows(local, 1, counts, all);
  std::vector<std::vector<std::byte>> carry_overs;
  auto begin = all.begin();
  for (const std::int64_t count : counts) {
    carry_overs.emplace_back(begin, begin + count);
    begin += count;
  }
  return carry_overs;
}

template <class Maker>
LocalUnits join(const comm::Communicator& comm, const EvaluationSession& session,
                LocalSamples& samples) {
  const auto& task = *session.scoring.task;
  std::optional<LocalUnits> units;
  std::optional<UnitAggregator<Maker>> joined;
  std::vector<std::byte> carry_over;
  comm::agree_on(comm, [&] {
    units = units_of(samples, empty_log(session, task.columns()),
                     empty_log(session, task.retained_columns()));
    joined.emplace(session, samples, *units);
    joined->take_samples();
    carry_over = joined->carry_over();
  });
  const auto carry_overs = gather_carry_overs(comm, carry_over);
  comm::agree_on(comm, [&] { joined->finish(carry_overs); });
  return std::move(*units);
}

// By what the units are.
struct Joiner {
  const comm::Communicator& comm;
  const EvaluationSession& session;
  LocalSamples& samples;

  LocalUnits operator()(std::monostate) const { return LocalUnits(std::move(samples)); }
  template <class Task>
  LocalUnits operator()(const Task* /*task*/) const {
    return join<UnitMaker<Task>>(comm, session, samples);
  }
};

}  // namespace

std::int64_t unit_of(const EvaluationSession& session, std::int64_t sample) {
  auto& set = *session.data.set;
  return data::read_column<std::int64_t>(set, set.info().target("unit"), sample, 1).front();
}

std::int64_t truncated_unit(const EvaluationSession& session) {
  const std::int64_t evaluated = session.plan.grid->num_samples();
  if (evaluated == session.data.set->info().num_samples) return -1;
  const std::int64_t last = unit_of(session, evaluated - 1);
  return unit_of(session, evaluated) == last ? last : -1;
}

std::int64_t count_units(const EvaluationSession& session) {
  const auto& info = session.data.set->info();
  if (info.num_units == 0 || is_rescoring_units(session)) return num_samples(session);
  return num_samples(session) == info.num_samples ? info.num_units
                                                  : unit_of(session, num_samples(session) - 1) + 1;
}

LocalUnits join_units(const comm::Communicator& comm, const EvaluationSession& session,
                      LocalSamples samples) {
  return std::visit(Joiner{comm, session, samples}, session.scoring.capabilities().units);
}

}  // namespace tally::app
