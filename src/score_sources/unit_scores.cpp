// SPDX-License-Identifier: Apache-2.0
#include "unit_scores.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include <tally/aggregate/saved_units.hpp>
#include <tally/aggregate/unit_makers.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/column_values.hpp>
#include <tally/session/local_result.hpp>

namespace tally::app {
namespace {

using predictions::SavedRows;

constexpr std::size_t kShownOfId = 64;

// A maker whose units predictions.h5 holds.
template <class Maker>
concept SavedUnitMaker = requires {
  &Maker::read_saved;
};

// Throws Error(dataset) unless row i is of unit i and has its id.
void check_units(const SavedRows& saved, data::DataSet& set, plan::SampleRange units) {
  const auto indices = saved.read_each<std::int64_t>("index", units.first, units.count);
  const auto lengths = saved.lengths("id", units.first, units.count);
  const auto known = data::read_ragged(set, "/units/id", units.first, units.count);
  const auto refuse_id = [&](std::int64_t i) {
    throw_saved_units_error(
        saved,
        format("row {} is not of '{}', which data set '{}' has there", units.first + i,
               printable(known.text(i).substr(0, kShownOfId)), printable(set.info().path.string())),
        kNameOtherData);
  };
  for (std::int64_t i = 0; i < units.count; ++i) {
    const std::int64_t unit = units.first + i, index = indices[to_size(i)];
    if (index != unit)
      throw_saved_units_error(saved, format("/index[{}] = {}, expected {}", unit, index, unit));
    if (lengths[to_size(i)] != std::ssize(known.row(i))) refuse_id(i);
  }
  // Each id has the length of the data set's, by which the bytes are cut.
  const auto ids = saved.elements<std::uint8_t>("id", units.first, units.count);
  std::span<const std::uint8_t> rest(ids);
  for (std::int64_t i = 0; i < units.count; ++i) {
    const auto id = rest.first(known.row(i).size());
    if (!std::ranges::equal(std::as_bytes(id), known.row(i))) refuse_id(i);
    rest = rest.subspan(id.size());
  }
}

template <SavedUnitMaker Maker>
LocalSamples score_all(const EvaluationSession& session, const SavedRows& saved,
                       LoopObserver& observer) {
  LocalSamples result = empty_samples(session, session.scoring.task->columns(),
                                      session.scoring.task->retained_columns());
  Maker maker(session, result.state);
  for (std::int64_t batch = session.plan.slice.first; batch < session.plan.slice.end(); ++batch) {
    const plan::SampleRange units = session.plan.grid->samples_of(batch);
    check_units(saved, *session.data.set, units);
    const auto [parts, cut] = Maker::read_saved(saved, *session.data.set, units);
    for (const auto& [unit, found] : parts) {
      const metrics::SampleRecord sample{checked_cast<std::uint64_t>(unit),
                                         Maker::is_finite(found)};
      maker.task().count({&sample, 1}, result.state);
      if (!sample.finite) result.loop.stats.not_finite.add(unit);
    }
    maker.score(parts, cut, result.log, result.retained);
    result.loop.stats.samples += units.count;
    observer.batch_done(result.loop.stats.samples, result.state);
  }
  return result;
}

// By what the units are.
struct UnitsScorer {
  const EvaluationSession& session;
  const SavedRows& saved;
  LoopObserver& observer;

  template <class Task>
  requires SavedUnitMaker<UnitMaker<Task>> LocalSamples operator()(const Task* /*task*/) const {
    return score_all<UnitMaker<Task>>(session, saved, observer);
  }
  LocalSamples operator()(const auto& /*task*/) const {
    throw Error(ErrorKind::internal, "saved units were asked of a task that has none");
  }
};

class UnitScores final : public ScoreSource {
 public:
  explicit UnitScores(SavedRows saved) : saved_(std::move(saved)) {}

  bool runs_predictor() const override { return false; }
  bool is_rescoring_units() const override { return true; }

  LocalSamples score(const EvaluationSession& session, LoopObserver& observer) override {
    return std::visit(UnitsScorer{session, saved_, observer}, session.scoring.capabilities().units);
  }

  void require_unchanged() const override { saved_.reader().require_unchanged(); }

 private:
  SavedRows saved_;
};

}  // namespace

SavedRows open_units(const std::string& path, std::string_view task, const data::DataSetInfo& info,
                     std::int64_t num_scored) {
  SavedRows saved(path);
  if (saved.task() != task) {
    throw_saved_units_error(
        saved, format("it is of the task {}, not of {}", printable(saved.task()), task),
        kNameOtherData);
  }
  const std::int64_t wanted =
      num_scored > 0 ? std::min(num_scored, info.num_units) : info.num_units;
  if (saved.num_rows() > info.num_units) {
    throw_saved_units_error(
        saved,
        format("it has {} {}, data set '{}' has {}", saved.num_rows(), task_traits(task).many,
               printable(info.path.string()), info.num_units),
        kNameOtherData);
  }
  if (saved.num_rows() < wanted) {
    throw_saved_units_error(
        saved,
        format("it has {} {}, {} are to be scored", saved.num_rows(), task_traits(task).many,
               wanted),
        saved.num_rows() == 0
            ? "Evaluate again."
            : format("Score as many with --limit {}, or evaluate the rest.", saved.num_rows()));
  }
  return saved;
}

std::unique_ptr<ScoreSource> unit_scores(SavedRows saved) {
  return std::make_unique<UnitScores>(std::move(saved));
}

}  // namespace tally::app
