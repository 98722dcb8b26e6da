// SPDX-License-Identifier: Apache-2.0
// Keeps one rank's records, in the order of its samples: in memory up to a bound, then in a file on
// node-local disk that has no name and vanishes with the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <tally/predictions/record_batch.hpp>

namespace tally::predictions {

class PredictionLog {
 public:
  // Spills to `spill_folder` once more than `memory_bytes` are held; of them, each ragged column
  // has an equal share for its elements, as have all other columns together. What is larger than
  // that goes to the file at once. Throws Error(output) when the folder cannot be written or is
  // full.
  PredictionLog(std::vector<ColumnSpec> columns, std::filesystem::path spill_folder,
                std::int64_t memory_bytes);
  PredictionLog(PredictionLog&&) noexcept;
  PredictionLog& operator=(PredictionLog&&) noexcept;
  ~PredictionLog();

  const std::vector<ColumnSpec>& columns() const;
  std::int64_t num_rows() const;
  // Of all rows of a ragged column.
  std::int64_t num_elements(std::int64_t column) const;
  std::int64_t spilled_bytes() const;

  void append(const RecordBatch& records);
  // Rows [first, first + count) of one column into `out` (count * row_bytes bytes). Not of a ragged
  // one; those are read by
  void read(std::int64_t column, std::int64_t first, std::int64_t count,
            std::span<std::byte> out) const;
  // how many elements rows [first, first + count) have, int64 [count],
  void read_lengths(std::int64_t column, std::int64_t first, std::int64_t count,
                    std::span<std::byte> out) const;
  // and elements [first, first + count) of all rows behind one another (count * row_bytes bytes).
  void read_elements(std::int64_t column, std::int64_t first, std::int64_t count,
                     std::span<std::byte> out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::predictions
