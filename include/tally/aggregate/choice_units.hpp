// The questions of multiple choice: their choices together.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregator.hpp>
#include <tally/predictions/log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/choices.hpp>

namespace tally::app {

// As UnitAggregator wants it.
class ChoiceQuestions {
 public:
  using Found = std::vector<tasks::SequenceRecord>;  // a choice each
  static constexpr std::string_view kOne = "question", kMany = "questions";

  ChoiceQuestions(const EvaluationSession& session, LocalUnits& units)
      : ChoiceQuestions(session, units.state) {}
  // `state` counts the units.
  ChoiceQuestions(const EvaluationSession& session, exact::State& state)
      : session_(session),
        task_(*std::get<const tasks::ChoiceTask*>(session.scoring.capabilities().units)),
        state_(state) {}

  const tasks::ChoiceTask& task() const { return task_; }
  static std::vector<UnitSample<Found>> samples_in(const predictions::RecordBatch& window);
  static void merge(const Found& more, Found& found);
  static void pack(const Found& found, std::vector<std::byte>& bytes);
  static Found unpack(std::span<const std::byte> bytes);
  // Error(dataset) where samples are not the choices of the question, one after the other.
  void score(std::span<const UnitPart<Found>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  static void finish() {}

 private:
  const EvaluationSession& session_;
  const tasks::ChoiceTask& task_;
  exact::State& state_;
};

}  // namespace tally::app
