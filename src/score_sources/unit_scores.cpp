// SPDX-License-Identifier: Apache-2.0
#include "unit_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <tally/aggregate/document_and_choice_units.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/data/choices_and_objects.hpp>
#include <tally/data/column_values.hpp>
#include <tally/session/local_result.hpp>

namespace tally::app {
namespace {

using predictions::SavedRows;
using tasks::SequenceRecord;

// Holds some units, as UnitAggregator would have put them together.
template <class Found>
struct SavedParts {
  std::vector<UnitPart<Found>> parts;
  std::int64_t cut = -1;  // of which --limit left some samples out; -1: none
};

// No document has more tokens: a larger number is damage, and could make sums overflow.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 32;
constexpr std::size_t kShownOfId = 64;
constexpr std::string_view kOtherData = "Name the data set that was predicted.";

[[noreturn]] void throw_dataset_error(
    const SavedRows& saved, const std::string& problem,
    std::string_view next_step = "The file is damaged: evaluate again.") {
  throw Error(ErrorKind::dataset, format("predictions file '{}': {}", saved.name(), problem),
              next_step);
}

// Samples can be missing only from the last unit that was evaluated, because --limit cuts there.
void cut_at(const SavedRows& saved, std::int64_t unit, std::int64_t& cut) {
  if (unit != saved.num_rows() - 1) {
    throw_dataset_error(saved, format("row {} is of a part, and not the last one", unit));
  }
  cut = unit;
}

// Makes of saved rows what UnitAggregator would have made of the samples; specialised for each
// maker of units. Throws Error(dataset) for rows that do not fit the data set.
template <class Maker>
SavedParts<typename Maker::Partial> parts_of(const SavedRows& saved, data::DataSet& set,
                                             plan::SampleRange units);

// The counts contain one another. A document without a scored token has no loss.
void check_document(const SavedRows& saved, const SequenceRecord& sums) {
  const bool fit = 0 <= sums.right && sums.right <= sums.in_top5 && sums.in_top5 <= sums.tokens &&
                   sums.tokens <= kMostTokens && (sums.tokens > 0 || sums.loss == 0);
  if (fit) return;
  throw_dataset_error(
      saved, format("row {} has {} tokens, {} correct, {} within the first five, nll {}", sums.unit,
                    sums.tokens, sums.right, sums.in_top5, sums.loss));
}

template <>
SavedParts<tasks::DocumentSums> parts_of<Documents>(const SavedRows& saved, data::DataSet& set,
                                                    plan::SampleRange units) {
  const auto read = [&](std::string_view column) {
    return saved.read_each<std::int64_t>(column, units.first, units.count);
  };
  const auto tokens = read("tokens"), right = read("correct"), in_top5 = read("correct_top5");
  const auto bytes = read("bytes");
  const auto known_bytes = data::read_column<std::int64_t>(set, set.info().table("/units/bytes"),
                                                           units.first, units.count);
  const auto losses = saved.read_each<double>("nll", units.first, units.count);
  SavedParts<tasks::DocumentSums> found;
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const SequenceRecord sums{.index = unit,
                              .unit = unit,
                              .tokens = tokens[i],
                              .right = right[i],
                              .in_top5 = in_top5[i],
                              .loss = losses[i],
                              .finite = std::isfinite(losses[i]) ? 1 : 0};
    check_document(saved, sums);
    // append_document() writes -1 for a document of which --limit left windows out.
    if (bytes[i] < 0) {
      cut_at(saved, unit, found.cut);
    } else if (bytes[i] != known_bytes[i]) {
      const auto known = known_bytes[i];
      throw_dataset_error(
          saved, format("row {} is of {} bytes, document {} has {}", unit, bytes[i], unit, known),
          kOtherData);
    }
    found.parts.push_back({unit, tasks::DocumentSums(sums)});
  }
  return found;
}

using ChoiceRecords = ChoiceQuestions::Partial;

// Makes the records of one question, whose choices are the samples from `first` on. choose()
// computes the likelihood from the loss by the same subtraction, which keeps the bits of 0 and of
// NaN.
ChoiceRecords records_of(std::span<const double> likelihoods, std::int64_t unit,
                         std::int64_t first) {
  ChoiceRecords records;
  for (std::size_t i = 0; i < likelihoods.size(); ++i) {
    const auto choice = static_cast<std::int64_t>(i);
    records.push_back({.index = first + choice,
                       .unit = unit,
                       .choice = choice,
                       .loss = 0.0 - likelihoods[i],  // the sign of NaN, too
                       .finite = std::isfinite(likelihoods[i]) ? 1 : 0});
  }
  return records;
}

template <>
SavedParts<ChoiceRecords> parts_of<ChoiceQuestions>(const SavedRows& saved, data::DataSet& set,
                                                    plan::SampleRange units) {
  const auto labels = saved.read_each<std::int64_t>("label", units.first, units.count);
  const auto lengths = saved.lengths("log_likelihood", units.first, units.count);
  const auto known = data::read_choices(set, units.first, units.count);
  SavedParts<ChoiceRecords> found;
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const std::int64_t num_choices = known.first_choice[i + 1] - known.first_choice[i];
    // append_choice() writes -1 for a question of which --limit left choices out.
    const bool is_cut = labels[i] < 0;
    if (is_cut) cut_at(saved, unit, found.cut);
    const bool fit = is_cut ? 0 < lengths[i] && lengths[i] < num_choices
                            : lengths[i] == num_choices && labels[i] == known.gold[i];
    if (fit) continue;
    throw_dataset_error(
        saved,
        format("row {} is of {} choices, of which {} is right, question {} has {} and {}", unit,
               lengths[i], labels[i], unit, num_choices, known.gold[i]),
        kOtherData);
  }
  // Values are read after their numbers were checked: a damaged file must not decide how much
  // memory is taken.
  const auto values = saved.elements<double>("log_likelihood", units.first, units.count);
  std::span<const double> rest(values);
  for (std::size_t i = 0; i < to_size(units.count); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const auto of_unit = rest.first(to_size(lengths[i]));
    found.parts.push_back({unit, records_of(of_unit, unit, known.first_choice[i])});
    rest = rest.subspan(of_unit.size());
  }
  return found;
}

bool is_finite(const tasks::DocumentSums& sums) { return sums.finite(); }
bool is_finite(const ChoiceRecords& choices) {
  return std::ranges::all_of(choices, [](const auto& choice) { return choice.finite != 0; });
}

// Throws Error(dataset) unless row i is of unit i and has its id.
void check_units(const SavedRows& saved, data::DataSet& set, plan::SampleRange units) {
  const auto indices = saved.read_each<std::int64_t>("index", units.first, units.count);
  const auto lengths = saved.lengths("id", units.first, units.count);
  const auto known = data::read_ragged(set, "/units/id", units.first, units.count);
  const auto refuse_id = [&](std::int64_t i) {
    throw_dataset_error(
        saved,
        format("row {} is not of '{}', which data set '{}' has there", units.first + i,
               printable(known.text(i).substr(0, kShownOfId)), printable(set.info().path.string())),
        kOtherData);
  };
  for (std::int64_t i = 0; i < units.count; ++i) {
    const std::int64_t unit = units.first + i, index = indices[to_size(i)];
    if (index != unit)
      throw_dataset_error(saved, format("/index[{}] = {}, expected {}", unit, index, unit));
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

template <class Maker>
LocalSamples score_all(const EvaluationSession& session, const SavedRows& saved,
                       evaluate::Observer& observer) {
  LocalSamples result = empty_samples(session, session.scoring.task->columns(),
                                      session.scoring.task->retained_columns());
  Maker maker(session, result.state);
  for (std::int64_t batch = session.plan.slice.first; batch < session.plan.slice.end(); ++batch) {
    const plan::SampleRange units = session.plan.grid->samples_of(batch);
    check_units(saved, *session.data.set, units);
    const auto [parts, cut] = parts_of<Maker>(saved, *session.data.set, units);
    for (const auto& [unit, found] : parts) {
      // A unit is a sample of this run, too, and leaves evidence of both.
      const metrics::SampleRecord sample{checked_cast<std::uint64_t>(unit), is_finite(found)};
      maker.task().count({&sample, 1}, result.state);
      if (!sample.finite) result.loop.stats.not_finite.add(unit);
    }
    maker.score(parts, cut, result.log, result.retained);
    result.loop.stats.samples += units.count;
    observer.batch_done(result.loop.stats.samples, result.state);
  }
  return result;
}

class UnitScores final : public ScoreSource {
 public:
  explicit UnitScores(SavedRows saved) : saved_(std::move(saved)) {}

  bool runs_predictor() const override { return false; }
  bool is_rescoring_units() const override { return true; }

  LocalSamples score(const EvaluationSession& session, evaluate::Observer& observer) override {
    const bool of_documents =
        std::holds_alternative<const tasks::DocumentTask*>(session.scoring.capabilities().units);
    return of_documents ? score_all<Documents>(session, saved_, observer)
                        : score_all<ChoiceQuestions>(session, saved_, observer);
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
    throw_dataset_error(saved,
                        format("it is of the task {}, not of {}", printable(saved.task()), task),
                        kOtherData);
  }
  const std::int64_t wanted =
      num_scored > 0 ? std::min(num_scored, info.num_units) : info.num_units;
  if (saved.num_rows() > info.num_units) {
    throw_dataset_error(
        saved,
        format("it has {} {}, data set '{}' has {}", saved.num_rows(), task_traits(task).many,
               printable(info.path.string()), info.num_units),
        kOtherData);
  }
  if (saved.num_rows() < wanted) {
    throw_dataset_error(
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
