// SPDX-License-Identifier: Apache-2.0
// Units made of sequences that a language model scored: documents, and questions with their
// choices.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/documents_and_choices.hpp>

namespace tally::app {

// The documents of a language model: the sums over their windows.

// As UnitAggregator wants it.
class Documents {
 public:
  using Partial = tasks::DocumentSums;
  static constexpr std::string_view kSingular = "document", kPlural = "documents";

  Documents(const EvaluationSession& session, LocalUnits& units)
      : Documents(session, units.state) {}
  // `state` counts the units.
  Documents(const EvaluationSession& session, exact::State& state)
      : session_(session),
        task_(*std::get<const tasks::DocumentTask*>(session.scoring.capabilities().units)),
        state_(state) {}

  const tasks::DocumentTask& task() const { return task_; }
  static std::vector<UnitSample<Partial>> samples_in(const predictions::RecordBatch& window);
  static void merge(const Partial& more, Partial& found) { found.add(more); }
  static void pack(const Partial& found, std::vector<std::byte>& bytes) { found.pack(bytes); }
  static Partial unpack(std::span<const std::byte> bytes) { return Partial(bytes); }
  void score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  static void finish() {}

 private:
  const EvaluationSession& session_;
  const tasks::DocumentTask& task_;
  exact::State& state_;
};

// The questions of multiple choice: their choices together.

// As UnitAggregator wants it.
class ChoiceQuestions {
 public:
  using Partial = std::vector<tasks::SequenceRecord>;  // a choice each
  static constexpr std::string_view kSingular = "question", kPlural = "questions";

  ChoiceQuestions(const EvaluationSession& session, LocalUnits& units)
      : ChoiceQuestions(session, units.state) {}
  // `state` counts the units.
  ChoiceQuestions(const EvaluationSession& session, exact::State& state)
      : session_(session),
        task_(*std::get<const tasks::ChoiceTask*>(session.scoring.capabilities().units)),
        state_(state) {}

  const tasks::ChoiceTask& task() const { return task_; }
  static std::vector<UnitSample<Partial>> samples_in(const predictions::RecordBatch& window);
  static void merge(const Partial& more, Partial& found);
  static void pack(const Partial& found, std::vector<std::byte>& bytes);
  static Partial unpack(std::span<const std::byte> bytes);
  // Error(dataset) where samples are not the choices of the question, one after the other.
  void score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  static void finish() {}

 private:
  const EvaluationSession& session_;
  const tasks::ChoiceTask& task_;
  exact::State& state_;
};

}  // namespace tally::app
