// Language models: from what is kept of a document's windows to its figures and records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/metrics/document_row.hpp>
#include <tally/predictions/columns.hpp>
#include <tally/tasks/sequences.hpp>
#include <tally/tasks/units.hpp>

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

  std::int64_t tokens() const { return counts_[kTokens]; }
  std::int64_t right() const { return counts_[kRight]; }
  std::int64_t in_top5() const { return counts_[kInTop5]; }
  bool finite() const { return counts_[kNotFinite] == 0; }
  double loss() const;  // NaN if not finite

 private:
  enum : std::size_t { kTokens, kRight, kInTop5, kNotFinite, kNumCounts };

  // The counts, and behind them the limbs of the exact sum of the losses.
  std::vector<std::int64_t> counts_;
};

// What the data set knows of a document.
struct Document {
  std::int64_t unit = 0;
  std::string_view id;  // UTF-8
  std::int64_t bytes = 0, words = 0;
  bool whole = true;  // false: --limit left some of its windows out
};

metrics::DocumentRow row_of(const Document& document, const DocumentSums& sums);

// predictions.h5: one row per document.
std::vector<predictions::ColumnSpec> document_columns();
void append_document(const Document& document, const DocumentSums& sums,
                     predictions::RecordBatch& records);

}  // namespace tally::tasks
