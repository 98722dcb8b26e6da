// SPDX-License-Identifier: Apache-2.0
// Between torch's tensors and the plain ones that other rooms see.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include <tally/base/tensor_view.hpp>
#include <tally/device/device.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::model {

c10::ScalarType scalar_type(DType dtype);
c10::ScalarType scalar_type(weights::ElementType type);

// Shares the memory, which outlives the tensor, is not written to and is of that device.
at::Tensor wrap(const TensorView& view, const device::Device& device);
// Shares the bytes, which are the part's own, if they are aligned for their type; else holds a
// copy.
at::Tensor wrap(const weights::StoredPart& part, weights::ElementType type,
                std::span<const std::byte> bytes);
// Of a contiguous tensor of a type that tally knows; valid as long as the tensor.
TensorView view_of(const at::Tensor& tensor);

// "float32", as Python calls it.
std::string dtype_name(const at::Tensor& tensor);
// "[64, 3, 32, 32]"
std::string shape_text(const at::Tensor& tensor);

}  // namespace tally::model
