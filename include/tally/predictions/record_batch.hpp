// SPDX-License-Identifier: Apache-2.0
// Defines what is recorded for each sample, as columns of rows of fixed size, or of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::predictions {

struct ColumnSpec {
  std::string name;  // also the data set's name in predictions.h5; of a ragged column, the group's
  DType dtype = DType::i64;
  Shape row_shape;      // [] for one value per sample; of a ragged column: of one element
  bool ragged = false;  // a row is any number of elements: bytes of a text, boxes of an image
  // Of a ragged column: of one element.
  std::int64_t row_bytes() const { return size_bytes(dtype) * num_elements(row_shape); }
  bool operator==(const ColumnSpec&) const = default;
};

// Rows of all columns: columns[c] holds num_rows * specs[c].row_bytes() bytes, row after row. Of a
// ragged column it holds the elements of all rows behind one another, and lengths[c] how many each
// row has, int64 [num_rows]; `lengths` of other columns are empty, and it may be left out where no
// column is ragged.
struct RecordBatch {
  std::int64_t num_rows = 0;
  std::vector<std::vector<std::byte>> columns;
  std::vector<std::vector<std::int64_t>> lengths{};
};

}  // namespace tally::predictions
