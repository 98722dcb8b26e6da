// SPDX-License-Identifier: Apache-2.0
// Records of samples that came in another order than the data set's, put back into that order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/predictions/record_batch.hpp>

namespace tally::evaluate {

class ReorderBuffer {
 public:
  explicit ReorderBuffer(std::vector<predictions::ColumnSpec> specs) : specs_(std::move(specs)) {}

  // indices: of the samples that the rows are of, one each.
  void add(const predictions::RecordBatch& rows, std::span<const std::int64_t> indices);
  // All rows since the last call, by ascending index.
  predictions::RecordBatch take();

 private:
  std::vector<predictions::ColumnSpec> specs_;
  std::vector<std::int64_t> indices_;
  predictions::RecordBatch rows_;
};

}  // namespace tally::evaluate
