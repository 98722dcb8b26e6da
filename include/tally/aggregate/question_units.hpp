// SPDX-License-Identifier: Apache-2.0
// Makes questions of the windows that were scored: reads their texts, answers them from what the
// windows found, and scores the answers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/aggregate/unit_aggregation.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/data/column_values.hpp>
#include <tally/data/data_set.hpp>
#include <tally/data/question_tables.hpp>
#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/tasks/answers.hpp>

namespace tally::app {

// What a data set knows of questions, some of them at a time.
class QuestionTexts {
 public:
  // Questions first … first + count - 1. Throws Error(dataset).
  QuestionTexts(data::DataSet& data_set, std::int64_t first, std::int64_t count);

  // Points into this object.
  tasks::Question question(std::int64_t unit) const;

 private:
  std::int64_t first_;
  data::RaggedRows ids_;
  data::QuestionRows rows_;
  // Paragraphs that follow one another.
  struct Run {
    std::int64_t first = 0;
    data::RaggedRows contexts, tokens;
  };
  std::vector<Run> runs_;     // in the order of the paragraphs
  data::RaggedRows answers_;  // from the first question's first on
};

// Of a task whose units are questions to be answered; null for another.
const tasks::AnswerTask* answers_of(const EvaluationSession& session);

// Columns of LocalUnits::texts, each a JSON file of the result: its lines, without the brackets.
inline constexpr std::int64_t kPredictionsText = 0;
inline constexpr std::int64_t kNbestText = 1;

// As UnitAggregator wants it.
class Questions {
 public:
  using Partial = tasks::AnswerCandidates;
  static constexpr std::string_view kSingular = "question", kPlural = "questions";

  Questions(const EvaluationSession& session, LocalUnits& units);

  const tasks::AnswerTask& task() const { return task_; }
  std::vector<UnitSample<Partial>> samples_in(const predictions::RecordBatch& window) const;
  void merge(const Partial& more, Partial& found) const;
  void pack(const Partial& found, std::vector<std::byte>& bytes) const;
  Partial unpack(std::span<const std::byte> bytes) const;
  // A question is answered from the windows that there are.
  void score(std::span<const UnitPart<Partial>> parts, std::int64_t cut,
             predictions::PredictionLog& log, predictions::PredictionLog& retained);
  void finish();

 private:
  void keep_margin(const tasks::Answer& answer);
  void append_lines(const tasks::Question& question, const tasks::Answer& answer,
                    const Partial& candidates, predictions::RecordBatch& lines) const;

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
