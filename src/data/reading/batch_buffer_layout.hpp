// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a batch lie in a slot.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/data/batch_reader.hpp>

namespace tally::data {

struct SlotField {
  const ColumnInfo* column;
  std::int64_t offset;  // in bytes, a multiple of 64
  std::int64_t bytes;   // batch_size rows
};

struct BatchBufferLayout {
  std::vector<SlotField> inputs, targets;
  std::vector<SlotField> lengths;  // one or none
  std::int64_t bytes = 0;
};

// Points into `info`. Throws Error(dataset) where a batch does not fit the address space.
BatchBufferLayout make_batch_buffer_layout(const DataSetInfo& info, std::int64_t batch_size);

// The tensors of a batch in the slot that begins at `memory`, [batch_size, …] each.
std::vector<TensorView> slot_views(const std::vector<SlotField>& fields, std::byte* memory,
                                   std::int64_t batch_size);

}  // namespace tally::data
