// SPDX-License-Identifier: Apache-2.0
// Language models: what is kept of a sequence whose tokens are scored, and from it the metrics and
// records of documents and of questions with choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/capabilities.hpp>

namespace tally::tasks {

// What is kept of a sequence at some places of which a language model's tokens are scored.

// A record of the loop. Plain data.
struct SequenceRecord {
  std::int64_t index = 0;  // global, of the sample
  std::int64_t unit = 0;
  std::int64_t choice = 0;   // of multiple choice: which one it is
  std::int64_t tokens = 0;   // that are scored
  std::int64_t right = 0;    // of them the most likely ones
  std::int64_t in_top5 = 0;  // of them among the five most likely ones
  double loss = 0;           // sum of -log(probability): exact, rounded once; NaN if not finite
  std::int64_t finite = 1;   // 0: the scores of a token hold NaN or Inf
};

// Adds up the places of a sequence that are scored.
void add_up(std::span<const metrics::TokenRecord> places, SequenceRecord& record);

// One row a sample, of one column.
predictions::ColumnSpec sequence_column();
void append_record(const SequenceRecord& record, std::vector<std::byte>& column);
std::span<const SequenceRecord> sequences_in(std::span<const std::byte> column);

// Language models: from what is kept of a document's windows to its metrics and records.

// Sums over windows of a document: the same bits for any order and any split of them.
class DocumentSums {
 public:
  DocumentSums();
  explicit DocumentSums(const SequenceRecord& window);
  // Of pack().
  explicit DocumentSums(std::span<const std::byte> bytes);

  void add(const DocumentSums& other);
  // Appends them, for another rank.
  void pack(std::vector<std::byte>& bytes) const;

  std::int64_t tokens() const { return counts_.tokens; }
  std::int64_t right() const { return counts_.right; }
  std::int64_t in_top5() const { return counts_.in_top5; }
  bool finite() const { return counts_.not_finite == 0; }
  double loss() const;  // NaN if not finite

 private:
  struct Counts {
    std::int64_t tokens = 0, right = 0, in_top5 = 0, not_finite = 0;
  };

  Counts counts_;
  std::vector<std::int64_t> loss_;  // limbs of the exact sum
};

// What the data set knows of a document.
struct Document {
  std::int64_t unit = 0;
  std::string_view id;  // UTF-8
  std::int64_t bytes = 0, words = 0;
  bool whole = true;  // false: --limit left some of its windows out
};

metrics::LanguageModelRecord row_of(const Document& document, const DocumentSums& sums);

// predictions.h5: one row per document.
std::vector<predictions::ColumnSpec> document_columns();
void append_document(const Document& document, const DocumentSums& sums,
                     predictions::RecordBatch& records);

// Multiple choice: from the log likelihoods of a question's choices to what is chosen.

// What the data set knows of a question.
struct ChoiceQuestion {
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
Chosen choose(const ChoiceQuestion& question, std::span<const SequenceRecord> choices);
metrics::MultipleChoiceRecord row_of(const ChoiceQuestion& question, const Chosen& chosen);

// predictions.h5: one row per question.
std::vector<predictions::ColumnSpec> choice_columns();
void append_choice(const ChoiceQuestion& question, const Chosen& chosen,
                   predictions::RecordBatch& records);

}  // namespace tally::tasks
