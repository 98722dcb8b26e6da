// The questions of question answering: what their windows found, answered and scored.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregator.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/digest/digest.hpp>
#include <tally/predictions/log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/answers.hpp>

namespace tally::app {

// Of a task whose units are questions to be answered; null for another.
const tasks::AnswerTask* answers_of(const EvaluationSession& session);

// Columns of LocalUnits::texts, each a JSON file of the result: its lines, without the brackets.
inline constexpr std::int64_t kPredictionsText = 0;
inline constexpr std::int64_t kNbestText = 1;

// As UnitAggregator wants it.
class Questions {
 public:
  using Found = tasks::AnswerCandidates;
  static constexpr std::string_view kOne = "question", kMany = "questions";

  Questions(const EvaluationSession& session, LocalUnits& units);

  const tasks::AnswerTask& task() const { return task_; }
  std::vector<UnitSample<Found>> samples_in(const predictions::RecordBatch& window) const;
  void merge(const Found& more, Found& found) const;
  void pack(const Found& found, std::vector<std::byte>& bytes) const;
  Found unpack(std::span<const std::byte> bytes) const;
  // A question is answered from the windows that there are.
  void score(std::span<const UnitPart<Found>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  void finish();

 private:
  void keep_margin(const tasks::Answer& answer);
  void append_lines(const tasks::Question& question, const tasks::Answer& answer,
                    const Found& candidates, predictions::RecordBatch& lines) const;

  const EvaluationSession& session_;
  const tasks::AnswerTask& task_;
  LocalUnits& units_;
  predictions::PredictionLog texts_;
};

// Collective. The metrics at the best threshold for no answer, where they are wanted, on rank 0;
// what they are made of goes into the digest there.
void add_best_answers(const comm::Communicator& comm, const EvaluationSession& session,
                      const LocalUnits& local, metrics::Results& results, digest::Sha256& digest);

}  // namespace tally::app
