// What is recorded for each sample, as columns of fixed-size rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::predictions {

struct ColumnSpec {
  std::string name;  // also the data set's name in predictions.h5
  DType dtype = DType::i64;
  Shape row_shape;  // [] for one value per sample
  std::int64_t row_bytes() const { return size_bytes(dtype) * num_elements(row_shape); }
  bool operator==(const ColumnSpec&) const = default;
};

// Rows of all columns: columns[c] holds num_rows * specs[c].row_bytes() bytes, row after row.
struct RecordBatch {
  std::int64_t num_rows = 0;
  std::vector<std::vector<std::byte>> columns;
};

}  // namespace tally::predictions
