// SPDX-License-Identifier: Apache-2.0
// Gives labels the numbers that the classes of a data set have somewhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/data/data_set.hpp>

namespace tally::data {

struct RenumberedClasses {
  // Class i of `stored` is class numbers[i] of `num_classes`. Throws what
  // DataSet::renumber_classes() throws.
  RenumberedClasses(const DataSetInfo& stored, std::int64_t num_classes,
                    std::vector<std::int64_t> numbers);

  // In place. `rows` are of /targets/label, and were found right.
  void apply(const ColumnInfo& column, std::span<std::byte> rows) const;

  DataSetInfo as_stored;
  std::vector<std::int64_t> numbers;
};

}  // namespace tally::data
