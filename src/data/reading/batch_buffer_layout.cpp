// SPDX-License-Identifier: Apache-2.0
#include "reading/batch_buffer_layout.hpp"

#include <tally/base/format.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

// 64 bytes are a cache line and the widest vector register (AVX-512).
constexpr std::int64_t kAlignment = 64;

// Adds a column's field at `offset` and returns the offset of the next one. The size of a row comes
// from the file, so every step is checked for overflow.
std::int64_t placed(const DataSetInfo& info, const ColumnInfo& column, std::int64_t batch_size,
                    std::int64_t offset, std::vector<SlotField>& fields) {
  std::int64_t bytes = 0, end = 0;
  if (__builtin_mul_overflow(column.row_bytes(), batch_size, &bytes) ||
      __builtin_add_overflow(offset, bytes, &end) ||
      __builtin_add_overflow(end, kAlignment - 1, &end)) {
    throw_dataset_error(info.path, column.path,
                        format("has rows of {} bytes: a batch of {} does not fit memory",
                               column.row_bytes(), batch_size),
                        "Use a smaller --batch-size.");
  }
  fields.push_back({&column, offset, bytes});
  return end / kAlignment * kAlignment;
}

}  // namespace

BatchBufferLayout make_batch_buffer_layout(const DataSetInfo& info, std::int64_t batch_size) {
  BatchBufferLayout layout;
  for (const ColumnInfo& column : info.columns.inputs) {
    layout.bytes = placed(info, column, batch_size, layout.bytes, layout.inputs);
  }
  for (const ColumnInfo& column : info.columns.targets) {
    layout.bytes = placed(info, column, batch_size, layout.bytes, layout.targets);
  }
  if (info.columns.lengths) {
    layout.bytes = placed(info, *info.columns.lengths, batch_size, layout.bytes, layout.lengths);
  }
  return layout;
}

std::vector<TensorView> slot_views(const std::vector<SlotField>& fields, std::byte* memory,
                                   std::int64_t batch_size) {
  std::vector<TensorView> views;
  for (const SlotField& field : fields) {
    views.push_back(contiguous_view(memory + field.offset, field.column->dtype,
                                    shape_of_rows(batch_size, field.column->row_shape)));
  }
  return views;
}

}  // namespace tally::data
