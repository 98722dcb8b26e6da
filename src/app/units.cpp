#include "units.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/comm/agree.hpp>
#include <tally/data/read_column.hpp>

#include "choice_units.hpp"
#include "document_units.hpp"
#include "questions.hpp"
#include "saved_predictions.hpp"
#include "unit_join.hpp"

namespace tally::app {
namespace {

// Collective. Of each rank some bytes, on every rank.
std::vector<std::vector<std::byte>> gather_heads(const comm::Communicator& comm,
                                                 const std::vector<std::byte>& mine) {
  const auto counts = comm.all_gather(std::ssize(mine));
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  std::vector<std::byte> all(to_size(total));
  comm.all_gather_rows(mine, 1, counts, all);
  std::vector<std::vector<std::byte>> heads;
  auto begin = all.begin();
  for (const std::int64_t count : counts) {
    heads.emplace_back(begin, begin + count);
    begin += count;
  }
  return heads;
}

template <class Maker>
void join(const comm::Communicator& comm, Job& job, LoopResult& mine) {
  std::optional<UnitJoin<Maker>> units;
  std::vector<std::byte> head;
  comm::agree_on(comm, [&] {
    units.emplace(job, mine);
    units->take_samples();
    head = units->head();
  });
  const auto heads = gather_heads(comm, head);
  comm::agree_on(comm, [&] { units->finish(heads); });
}

// By what the units are.
struct Joiner {
  const comm::Communicator& comm;
  Job& job;
  LoopResult& mine;

  void operator()(std::monostate) const {}
  void operator()(const tasks::AnswerTask*) const { join<Questions>(comm, job, mine); }
  void operator()(const tasks::DocumentTask*) const { join<Documents>(comm, job, mine); }
  void operator()(const tasks::ChoiceTask*) const { join<ChoiceQuestions>(comm, job, mine); }
};

}  // namespace

std::int64_t unit_of(const Job& job, std::int64_t sample) {
  auto& set = *job.data.set;
  return data::read_column<std::int64_t>(set, set.info().target("unit"), sample, 1).front();
}

std::int64_t cut_unit(const Job& job) {
  const std::int64_t evaluated = job.grid->num_samples();
  if (evaluated == job.data.set->info().num_samples) return -1;
  const std::int64_t last = unit_of(job, evaluated - 1);
  return unit_of(job, evaluated) == last ? last : -1;
}

std::int64_t count_units(const Job& job) {
  const auto& info = job.data.set->info();
  if (info.num_units == 0 || scores_units(job)) return num_samples(job);
  return num_samples(job) == info.num_samples ? info.num_units
                                              : unit_of(job, num_samples(job) - 1) + 1;
}

void join_units(const comm::Communicator& comm, Job& job, LoopResult& mine) {
  if (!scores_units(job)) std::visit(Joiner{comm, job, mine}, job.task->units());
}

}  // namespace tally::app
