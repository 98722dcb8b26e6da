// SPDX-License-Identifier: Apache-2.0
#include "reorder_buffer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::evaluate {
namespace {

template <class T>
void append(const std::vector<T>& more, std::vector<T>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

// Returns where each row of a column begins, in bytes, and behind these the end of the last row.
std::vector<std::size_t> borders_of(const predictions::ColumnSpec& spec, std::size_t num_rows,
                                    std::span<const std::int64_t> lengths) {
  std::vector<std::size_t> borders{0};
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::int64_t elements = spec.ragged ? lengths[row] : 1;
    borders.push_back(borders.back() + to_size(elements * spec.row_bytes()));
  }
  return borders;
}

}  // namespace

void ReorderBuffer::add(const predictions::RecordBatch& rows,
                        std::span<const std::int64_t> indices) {
  if (rows.num_rows != std::ssize(indices) || rows.columns.size() != specs_.size()) {
    throw Error(ErrorKind::internal,
                format("{} rows of {} columns for {} samples of {}", rows.num_rows,
                       rows.columns.size(), indices.size(), specs_.size()));
  }
  indices_.insert(indices_.end(), indices.begin(), indices.end());
  rows_.num_rows += rows.num_rows;
  rows_.columns.resize(specs_.size());
  rows_.lengths.resize(specs_.size());
  for (std::size_t c = 0; c < specs_.size(); ++c) {
    append(rows.columns[c], rows_.columns[c]);
    if (specs_[c].ragged) append(rows.lengths[c], rows_.lengths[c]);
  }
}

predictions::RecordBatch ReorderBuffer::take() {
  std::vector<std::size_t> order(indices_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Row numbers are sorted first, so that each row of each column is copied once.
  std::ranges::sort(order, {}, [&](std::size_t row) { return indices_[row]; });
  predictions::RecordBatch sorted{rows_.num_rows, {}, {}};
  sorted.columns.resize(specs_.size());
  sorted.lengths.resize(specs_.size());
  for (std::size_t c = 0; c < specs_.size() && !order.empty(); ++c) {
    const auto borders = borders_of(specs_[c], order.size(), rows_.lengths[c]);
    const std::byte* const bytes = rows_.columns[c].data();
    for (const std::size_t row : order) {
      sorted.columns[c].insert(sorted.columns[c].end(), bytes + borders[row],
                               bytes + borders[row + 1]);
      if (specs_[c].ragged) sorted.lengths[c].push_back(rows_.lengths[c][row]);
    }
  }
  indices_.clear();
  rows_ = {};
  return sorted;
}

}  // namespace tally::evaluate
