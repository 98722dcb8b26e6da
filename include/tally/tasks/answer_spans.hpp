// SPDX-License-Identifier: Apache-2.0
// Finds, for question answering, the spans of the context that a model proposes as answers, window
// by window, and the best of them over the windows of a question. It knows no text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/predictions/record_batch.hpp>

namespace tally::tasks {

// Tokens of a paragraph; both ends belong to it.
struct AnswerSpan {
  std::int32_t first_token = 0, last_token = 0;
  float start_logit = 0, end_logit = 0;

  double score() const { return double{start_logit} + end_logit; }
  bool operator==(const AnswerSpan&) const = default;
};

// The best first; of equal ones that with the smaller first, then last token.
bool is_better(const AnswerSpan& a, const AnswerSpan& b);

// Of a window, or of all windows of a question that were seen.
struct AnswerCandidates {
  std::int64_t unit = -1;
  // Logits for no answer, those of the first token; of several windows the ones with the least sum.
  float no_answer_start = 0, no_answer_end = 0;
  // false: a logit that counts is NaN or +Inf; then there are no spans, and these two are NaN.
  bool finite = true;
  std::vector<AnswerSpan> best;

  double no_answer_score() const { return double{no_answer_start} + no_answer_end; }
};

struct AnswerLimits {
  std::int64_t max_tokens = 30;  // of an answer
  std::int64_t num_best = 20;    // spans that are kept
};

// A window: where its context is, and the model's logits of its tokens.
struct AnswerWindow {
  std::int64_t unit = 0;
  std::int64_t context_begin = 0, context_end = 0;  // places of the context in the window
  std::int64_t token_begin = 0;                     // of the paragraph: at context_begin
  std::span<const float> start, end;                // [tokens]
};

// The best spans that lie in the context and are no longer than allowed. O(tokens * max_tokens).
AnswerCandidates candidates_of(const AnswerWindow& window, const AnswerLimits& limits);

// Adds those of another window of the same question. A span that both have is kept once, with its
// better score.
void merge(const AnswerCandidates& other, const AnswerLimits& limits, AnswerCandidates& candidates);

// As records: one row a window or question, of one column.
predictions::ColumnSpec candidates_column(const AnswerLimits& limits);
// `index`: global index of the sample.
void append_record(std::int64_t index, const AnswerCandidates& candidates,
                   const AnswerLimits& limits, std::vector<std::byte>& column);

struct AnswerRecord {
  std::int64_t index = 0;
  AnswerCandidates candidates;
};
std::vector<AnswerRecord> records_in(std::span<const std::byte> column, const AnswerLimits& limits);

}  // namespace tally::tasks
