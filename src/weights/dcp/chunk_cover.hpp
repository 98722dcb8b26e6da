// SPDX-License-Identifier: Apache-2.0
// Whether the chunks of a tensor are the whole tensor.
#pragma once

#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::weights {

struct Chunk {
  Shape offsets, sizes;  // in elements, one a dimension of the tensor
};

// Throws FormatError unless each element of a tensor of this shape is in exactly one chunk. Chunks
// must be what cuts all across the tensor, then across its parts, make of it, as every sharding of
// PyTorch does.
void check_cover(const Shape& shape, const std::vector<Chunk>& chunks);

}  // namespace tally::weights
