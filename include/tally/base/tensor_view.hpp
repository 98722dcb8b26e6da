// SPDX-License-Identifier: Apache-2.0
// Describes a tensor without owning its memory: pointer, element type, shape, strides, device (as
// in DLPack).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

enum class DType { u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

std::int64_t size_bytes(DType dtype);
// "uint8", "float32", … as numpy and torch call them.
std::string_view name(DType dtype);
// Inverse of name(); throws Error(usage) for a word that is none.
DType dtype_from_name(std::string_view word);

enum class DeviceKind { cpu, cuda };
std::string_view name(DeviceKind kind);

using Shape = std::vector<std::int64_t>;

// [num_rows, ...row_shape]
Shape shape_of_rows(std::int64_t num_rows, std::span<const std::int64_t> row_shape);
std::int64_t num_elements(std::span<const std::int64_t> shape);
// Row-major strides, in elements.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);
// "[64, 3, 32, 32]"
std::string to_string(std::span<const std::int64_t> shape);

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::u8;
  Shape shape;
  std::vector<std::int64_t> strides;  // in elements
  DeviceKind device = DeviceKind::cpu;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// A view of contiguous memory.
TensorView contiguous_view(void* data, DType dtype, Shape shape,
                           DeviceKind device = DeviceKind::cpu);

}  // namespace tally
