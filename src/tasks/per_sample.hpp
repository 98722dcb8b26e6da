// What tasks share that look at one sample of a batch after the other, on the host.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/predictions/columns.hpp>

#include "column.hpp"

namespace tally::tasks {

inline TensorView row_of(const TensorView& batch, std::int64_t row) {
  const Shape shape(batch.shape.begin() + 1, batch.shape.end());
  auto* const data = batch.as<std::byte>() + row * num_elements(shape) * size_bytes(batch.dtype);
  return contiguous_view(data, batch.dtype, shape);
}

// Adds a row to the records.
template <class Row>
void append(const Row& row, const std::vector<Column<Row>>& columns,
            predictions::RecordBatch& records) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto& bytes = records.columns[c];
    const std::size_t before = bytes.size();
    bytes.resize(before + to_size(columns[c].spec.row_bytes()));
    columns[c].fill(row, std::span(bytes).subspan(before));
  }
  ++records.num_rows;
}

template <class Row>
void clear(const std::vector<Column<Row>>& columns, predictions::RecordBatch& records) {
  records.num_rows = 0;
  records.columns.resize(columns.size());
  for (auto& column : records.columns) column.clear();
}

}  // namespace tally::tasks
