// SPDX-License-Identifier: Apache-2.0
// Takes rows of a log one after another, as the bytes that a frame has of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tally/predictions/prediction_log.hpp>
#include <tally/predictions/record_batch.hpp>

namespace tally::resume {

// All calls are about the same log, of which rows are never removed.
class LogRows {
 public:
  explicit LogRows(std::vector<predictions::ColumnSpec> columns);

  bool has_columns() const { return !columns_.empty(); }
  // Goes to a row. Where that is not ahead, the lengths of all rows before it are read once more.
  // Error(internal) where the log has other columns.
  void seek(const predictions::PredictionLog& log, std::int64_t row);
  // Reads the lengths of the next rows, for
  void load_lengths(const predictions::PredictionLog& log, std::int64_t num_rows);
  // how many bytes the i-th of them has in a frame.
  std::int64_t bytes_of_row(std::int64_t i) const;
  // Appends the next rows, whose lengths are loaded, to a frame, and goes behind them.
  void take(const predictions::PredictionLog& log, std::int64_t num_rows,
            std::vector<std::byte>& frame);

 private:
  void skip(const predictions::PredictionLog& log, std::int64_t num_rows);

  std::vector<predictions::ColumnSpec> columns_;
  std::int64_t fixed_bytes_ = 0;  // of a row without the elements of ragged columns
  std::int64_t row_ = 0;
  std::vector<std::int64_t> elements_;              // of each column: those of rows before row_
  std::vector<std::vector<std::int64_t>> lengths_;  // of each column: those of the next rows
};

}  // namespace tally::resume
