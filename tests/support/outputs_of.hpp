// SPDX-License-Identifier: Apache-2.0
// What a model might return, for tests of tasks.
#pragma once

#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally {

// One output of this shape and type, without memory.
inline std::vector<TensorView> outputs_of(const Shape& shape, DType dtype = DType::f32) {
  return {contiguous_view(nullptr, dtype, shape)};
}

}  // namespace tally
