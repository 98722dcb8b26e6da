// SPDX-License-Identifier: Apache-2.0
// Defines the units of language models: makes of the records of a document's windows its metrics
// and its row of predictions.h5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/sequence_record.hpp>

namespace tally::tasks {

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

}  // namespace tally::tasks
