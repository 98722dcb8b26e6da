// SPDX-License-Identifier: Apache-2.0
#include "log_rows.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::resume {
namespace {

constexpr std::int64_t kSkippedAtOnce = 65536;

// Room for so many bytes more at the end of a frame.
std::span<std::byte> grow(std::vector<std::byte>& frame, std::int64_t num_bytes) {
  const std::size_t before = frame.size();
  frame.resize(before + to_size(num_bytes));
  return std::span(frame).subspan(before);
}

std::int64_t sum(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

}  // namespace

LogRows::LogRows(std::vector<predictions::ColumnSpec> columns)
    : columns_(std::move(columns)), elements_(columns_.size()), lengths_(columns_.size()) {
  for (const auto& column : columns_) {
    fixed_bytes_ += column.ragged ? std::int64_t{sizeof(std::int64_t)} : column.row_bytes();
  }
}

void LogRows::seek(const predictions::PredictionLog& log, std::int64_t row) {
  if (log.columns() != columns_) {
    throw Error(ErrorKind::internal, "progress: a log has other columns than were announced");
  }
  if (row < row_) {
    row_ = 0;
    std::ranges::fill(elements_, 0);
  }
  while (row_ < row) skip(log, std::min(row - row_, kSkippedAtOnce));
}

void LogRows::skip(const predictions::PredictionLog& log, std::int64_t num_rows) {
  load_lengths(log, num_rows);
  for (std::size_t c = 0; c < columns_.size(); ++c) elements_[c] += sum(lengths_[c]);
  row_ += num_rows;
}

void LogRows::load_lengths(const predictions::PredictionLog& log, std::int64_t num_rows) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].ragged) continue;
    lengths_[c].resize(to_size(num_rows));
    log.read_lengths(checked_cast<std::int64_t>(c), row_, num_rows,
                     std::as_writable_bytes(std::span(lengths_[c])));
  }
}

std::int64_t LogRows::bytes_of_row(std::int64_t i) const {
  std::int64_t bytes = fixed_bytes_;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].ragged) bytes += lengths_[c][to_size(i)] * columns_[c].row_bytes();
  }
  return bytes;
}

void LogRows::take(const predictions::PredictionLog& log, std::int64_t num_rows,
                   std::vector<std::byte>& frame) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto column = checked_cast<std::int64_t>(c);
    const std::int64_t width = columns_[c].row_bytes();
    if (!columns_[c].ragged) {
      log.read(column, row_, num_rows, grow(frame, num_rows * width));
      continue;
    }
    const auto lengths = std::span(lengths_[c]).first(to_size(num_rows));
    std::ranges::copy(std::as_bytes(lengths), grow(frame, std::ssize(lengths) * 8).begin());
    const std::int64_t num_elements = sum(lengths);
    log.read_elements(column, elements_[c], num_elements, grow(frame, num_elements * width));
  }
  // Only now, so that a failure to read leaves all as it was.
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].ragged) elements_[c] += sum(std::span(lengths_[c]).first(to_size(num_rows)));
  }
  row_ += num_rows;
}

}  // namespace tally::resume
