// SPDX-License-Identifier: Apache-2.0
// Reads all rows of an array, a few at a time.
#pragma once

#include <cstddef>
#include <vector>

#include <tally/data/row_source.hpp>

#include "harness.hpp"

namespace tally::fuzz {

inline void read_all_rows(data::RowSource& rows) {
  constexpr std::int64_t kAtOnce = 3;
  const auto& column = rows.column();
  std::vector<std::byte> out;
  for (std::int64_t row = 0; row < column.num_rows; row += kAtOnce) {
    const auto count = std::min(kAtOnce, column.num_rows - row);
    out.resize(static_cast<std::size_t>(count * column.row_bytes()));
    rows.read(row, count, out);
  }
}

}  // namespace tally::fuzz
