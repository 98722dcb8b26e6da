// SPDX-License-Identifier: Apache-2.0
// Defines the units of multiple choice: makes of the log likelihoods of a question's choices the
// choice that is made, its metrics and its row of predictions.h5.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/metrics/multiple_choice_metrics.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/sequence_record.hpp>

namespace tally::tasks {

// What the data set knows of a question.
struct MultipleChoiceQuestion {
  std::int64_t unit = 0;
  std::string_view id;                  // UTF-8
  std::int64_t gold = 0;                // the right choice
  std::vector<std::string_view> texts;  // of the choices that are evaluated; UTF-8
  bool whole = true;                    // false: --limit left some of its choices out
};

struct Chosen {
  std::vector<double> log_likelihoods;  // of the choices; NaN if not finite
  // The choice with the largest log likelihood, of equal ones the first; the same of log likelihood
  // by character (code point) and by byte of its text, where one without a text comes last. -1 if a
  // choice is not finite.
  std::int64_t most_likely = -1, by_character = -1, by_byte = -1;
  bool finite = true;
};

// choices: in order, as many as the question has texts.
Chosen choose(const MultipleChoiceQuestion& question, std::span<const SequenceRecord> choices);
metrics::MultipleChoiceRecord row_of(const MultipleChoiceQuestion& question, const Chosen& chosen);

// predictions.h5: one row per question.
std::vector<predictions::ColumnSpec> multiple_choice_columns();
void append_question(const MultipleChoiceQuestion& question, const Chosen& chosen,
                     predictions::RecordBatch& records);

}  // namespace tally::tasks
