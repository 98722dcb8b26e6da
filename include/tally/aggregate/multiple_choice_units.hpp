// SPDX-License-Identifier: Apache-2.0
// Makes the questions of multiple choice: puts the records of their choices together and scores
// them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <tally/aggregate/saved_units.hpp>
#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/data/data_set.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/predictions/saved_rows.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/multiple_choice.hpp>

namespace tally::app {

// As UnitAggregator wants it.
class MultipleChoiceUnits {
 public:
  using Partial = std::vector<tasks::SequenceRecord>;  // a choice each
  static constexpr std::string_view kSingular = "question", kPlural = "questions";

  MultipleChoiceUnits(const EvaluationSession& session, LocalUnits& units)
      : MultipleChoiceUnits(session, units.state) {}
  // `state` counts the units.
  MultipleChoiceUnits(const EvaluationSession& session, exact::State& state)
      : session_(session),
        task_(*std::get<const tasks::MultipleChoiceTask*>(session.scoring.capabilities().units)),
        state_(state) {}

  const tasks::MultipleChoiceTask& task() const { return task_; }
  static std::vector<UnitSample<Partial>> samples_in(const predictions::RecordBatch& window);
  static void merge(const Partial& more, Partial& found);
  static void pack(const Partial& found, std::vector<std::byte>& bytes);
  static Partial unpack(std::span<const std::byte> bytes);
  // Error(dataset) where samples are not the choices of the question, one after the other.
  void score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  static void finish() {}

  static bool is_finite(const Partial& found);
  // Units of a predictions.h5. Error(dataset) where they are not those of the data set.
  static SavedUnits<Partial> read_saved(const predictions::SavedRows& saved, data::DataSet& set,
                                        plan::SampleRange units);

 private:
  const EvaluationSession& session_;
  const tasks::MultipleChoiceTask& task_;
  exact::State& state_;
};

}  // namespace tally::app
