// SPDX-License-Identifier: Apache-2.0
// Makes the answer to a question, and its metrics and records, of the best spans of the question,
// or of a text that was saved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/answer_spans.hpp>
#include <tally/tasks/capabilities.hpp>

namespace tally::tasks {

// First byte of a token in its paragraph, and the one behind its last.
struct TokenBytes {
  std::int32_t begin = 0, end = 0;
};

// What the data set knows of a question.
struct Question {
  std::int64_t unit = 0;
  std::string_view id;       // UTF-8
  std::string_view context;  // UTF-8
  std::span<const TokenBytes> tokens;
  std::vector<std::string> golds;  // true answers; none where the question has no answer
};

struct AnswerPolicy {
  bool no_answer = false;  // questions may have no answer (SQuAD v2.0's rules)
  // Then none is predicted where the score for no answer is larger than that of the best span by
  // more than this.
  double no_answer_threshold = 0;
  bool has_spans = true;  // false: texts are scored, of which nobody knows the logits
};

struct Answer {
  std::string text;  // empty: none
  std::optional<AnswerSpan> span;
  double no_answer_margin = 0;  // score for no answer, less that of the best span
  metrics::QuestionAnsweringRecord row;
  // How good the best span's text is, whatever the threshold says.
  bool span_exact = false;
  double span_f1 = 0;
};

// Of the model's spans; their tokens are the question's. Error(dataset) names a token that is none
// of its paragraph, or whose bytes are not in the context.
Answer answer_of(const AnswerCandidates& candidates, const Question& question,
                 const AnswerPolicy& policy);
// Of a text that was predicted elsewhere.
Answer answer_of(std::string text, const Question& question, const AnswerPolicy& policy);

// A task whose units are questions.
class AnswerTask : public UnitCounting<metrics::QuestionAnsweringRecord> {
 public:
  virtual const AnswerLimits& limits() const = 0;
  virtual const AnswerPolicy& policy() const = 0;

 protected:
  ~AnswerTask() = default;
};

// predictions.h5: one row per question.
std::vector<predictions::ColumnSpec> answer_columns(const AnswerPolicy& policy);
void append_answer(const Question& question, const Answer& answer, const AnswerPolicy& policy,
                   predictions::RecordBatch& records);

// `"id": "text"`, as in SQuAD's predictions.json; ASCII.
std::string prediction_json(const Question& question, const Answer& answer);
// `"id": [{"text", "probability", "start_logit", "end_logit"}, …]`, as in nbest.json: the best
// first, with "" for no answer where that is allowed. Probabilities are over these texts.
std::string nbest_json(const AnswerCandidates& candidates, const Question& question,
                       const AnswerPolicy& policy);

}  // namespace tally::tasks
