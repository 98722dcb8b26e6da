#include "score_units.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/data/choices.hpp>
#include <tally/data/ragged.hpp>

#include "choice_units.hpp"
#include "document_units.hpp"
#include "run_loop.hpp"
#include "saved_predictions.hpp"

namespace tally::app {
namespace {

using predictions::SavedRows;
using tasks::SequenceRecord;

// Some units, as UnitJoin would have put them together.
template <class Found>
struct SavedParts {
  std::vector<UnitPart<Found>> parts;
  std::int64_t cut = -1;  // of which --limit left some samples out; -1: none
};

[[noreturn]] void refuse(const SavedRows& saved, const std::string& problem,
                         std::string_view next_step = "The file is damaged: evaluate again.") {
  throw Error(ErrorKind::dataset, format("predictions file '{}', {}", saved.name(), problem),
              next_step);
}

// Only of the last unit that was evaluated samples can be missing.
void cut_at(const SavedRows& saved, std::int64_t unit, std::int64_t& cut) {
  if (unit != saved.num_rows() - 1) {
    refuse(saved, format("row {} is of a part, and not the last one", unit));
  }
  cut = unit;
}

SavedParts<tasks::DocumentSums> parts_of(const Documents& /*maker*/, const SavedRows& saved,
                                         data::DataSet& /*set*/, plan::SampleRange units) {
  const auto read = [&](std::string_view column) {
    return saved.read<std::int64_t>(column, units.first, units.count);
  };
  const auto tokens = read("tokens"), right = read("correct"), in_top5 = read("correct_top5");
  const auto bytes = read("bytes");
  const auto losses = saved.read<double>("nll", units.first, units.count);
  SavedParts<tasks::DocumentSums> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const bool fit = 0 <= right[i] && right[i] <= in_top5[i] && in_top5[i] <= tokens[i];
    if (!fit || losses[i] < 0) {
      refuse(saved, format("row {} has {} tokens, {} correct, {} within the first five, nll {}",
                           unit, tokens[i], right[i], in_top5[i], losses[i]));
    }
    if (bytes[i] < 0) cut_at(saved, unit, found.cut);
    found.parts.push_back(
        {unit, tasks::DocumentSums(SequenceRecord{.index = unit,
                                                  .unit = unit,
                                                  .tokens = tokens[i],
                                                  .right = right[i],
                                                  .in_top5 = in_top5[i],
                                                  .loss = losses[i],
                                                  .finite = std::isfinite(losses[i]) ? 1 : 0})});
  }
  return found;
}

using ChoiceRecords = ChoiceQuestions::Found;

SavedParts<ChoiceRecords> parts_of(const ChoiceQuestions& /*maker*/, const SavedRows& saved,
                                   data::DataSet& set, plan::SampleRange units) {
  const auto labels = saved.read<std::int64_t>("label", units.first, units.count);
  const auto likelihoods = saved.read_ragged<double>("log_likelihood", units.first, units.count);
  const auto first_choice = data::read_choices(set, units.first, units.count).first_choice;
  SavedParts<ChoiceRecords> found;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t unit = units.first + static_cast<std::int64_t>(i);
    const std::int64_t num_choices = first_choice[i + 1] - first_choice[i];
    const std::int64_t num_saved = std::ssize(likelihoods[i]);
    const bool is_cut = labels[i] < 0 && num_saved > 0 && num_saved < num_choices;
    if (is_cut) cut_at(saved, unit, found.cut);
    if (num_saved != num_choices && !is_cut) {
      refuse(saved, format("row {} is of {} choices, question {} has {}", unit, num_saved, unit,
                           num_choices));
    }
    ChoiceRecords records;
    for (std::int64_t choice = 0; choice < num_saved; ++choice) {
      const double likelihood = likelihoods[i][to_size(choice)];
      records.push_back({.index = first_choice[i] + choice,
                         .unit = unit,
                         .choice = choice,
                         .loss = 0.0 - likelihood,  // the sign of NaN, too
                         .finite = std::isfinite(likelihood) ? 1 : 0});
    }
    found.parts.push_back({unit, std::move(records)});
  }
  return found;
}

bool is_finite(const tasks::DocumentSums& sums) { return sums.finite(); }
bool is_finite(const ChoiceRecords& choices) {
  return std::ranges::all_of(choices, [](const auto& choice) { return choice.finite != 0; });
}

// Rows are of the units of the same number, and call them as the data set does.
void check_units(const SavedRows& saved, data::DataSet& set, plan::SampleRange units) {
  const auto indices = saved.read<std::int64_t>("index", units.first, units.count);
  const auto ids = saved.read_ragged<std::uint8_t>("id", units.first, units.count);
  const auto known = data::read_ragged(set, "/units/id", units.first, units.count);
  for (std::int64_t i = 0; i < units.count; ++i) {
    const std::int64_t unit = units.first + i;
    const auto& id = ids[to_size(i)];
    if (indices[to_size(i)] != unit) {
      refuse(saved, format("/index[{}] = {}, expected {}", unit, indices[to_size(i)], unit));
    }
    const std::string found(id.begin(), id.end());
    if (found == known.text(i)) continue;
    refuse(saved,
           format("row {} is of '{}', which is '{}' in data set '{}'", unit, printable(found),
                  printable(known.text(i)), printable(set.info().path.string())),
           "Name the data set that was predicted.");
  }
}

template <class Maker>
LoopResult score(Job& job, evaluate::Observer& observer) {
  LoopResult result = fresh_result(job, job.task->columns(), job.task->kept_columns());
  Maker maker(job, result);
  const SavedRows& saved = *job.saved_units;
  for (std::int64_t batch = job.slice.first; batch < job.slice.end(); ++batch) {
    const plan::SampleRange units = job.grid->samples_of(batch);
    check_units(saved, *job.data.set, units);
    const auto [parts, cut] = parts_of(maker, saved, *job.data.set, units);
    for (const auto& [unit, found] : parts) {
      const metrics::SampleRow sample{checked_cast<std::uint64_t>(unit), is_finite(found)};
      maker.task().count({&sample, 1}, result.state);
      if (!sample.finite) result.findings.not_finite.add(unit);
    }
    maker.score(parts, cut, result.log, result.kept);
    result.findings.samples += units.count;
    observer.batch_done(result.findings.samples, result.state);
  }
  return result;
}

}  // namespace

SavedRows open_units(const std::string& path, std::string_view task, const data::DataSetInfo& info,
                     std::int64_t num_scored) {
  SavedRows saved(path);
  if (saved.task() != task) {
    refuse(saved, format("it is of the task {}, not {}", printable(saved.task()), task),
           "Name the data set that was predicted.");
  }
  const std::int64_t wanted =
      num_scored > 0 ? std::min(num_scored, info.num_units) : info.num_units;
  if (saved.num_rows() < wanted) {
    refuse(saved,
           format("it has {} {}, {} are to be scored", saved.num_rows(), unit_word(task), wanted),
           format("Score as many with --limit {}, or evaluate the rest.", saved.num_rows()));
  }
  return saved;
}

LoopResult score_units(Job& job, evaluate::Observer& observer) {
  const bool of_documents = std::holds_alternative<const tasks::DocumentTask*>(job.task->units());
  return of_documents ? score<Documents>(job, observer) : score<ChoiceQuestions>(job, observer);
}

}  // namespace tally::app
