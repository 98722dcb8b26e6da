// SPDX-License-Identifier: Apache-2.0
// Checks, while compiling, that the rows of a table stand in the order of the enum that indexes it.
#pragma once

#include <cstddef>

namespace tally {

// Tells whether the member `key` of row i is the enum's value i, for each row.
template <class Table, class Row, class Key>
consteval bool is_indexed_by(const Table& rows, Key Row::*key) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].*key != static_cast<Key>(i)) return false;
  }
  return true;
}

}  // namespace tally
