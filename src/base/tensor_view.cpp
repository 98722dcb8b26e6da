// SPDX-License-Identifier: Apache-2.0
#include <tally/base/tensor_view.hpp>

#include <array>
#include <functional>
#include <numeric>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/indexed_table.hpp>

namespace tally {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
};
// The order is that of DType, which info() uses as an index.
constexpr std::array kDTypes{
    DTypeInfo{DType::u8, "uint8", 1},      DTypeInfo{DType::i8, "int8", 1},
    DTypeInfo{DType::i16, "int16", 2},     DTypeInfo{DType::i32, "int32", 4},
    DTypeInfo{DType::i64, "int64", 8},     DTypeInfo{DType::f16, "float16", 2},
    DTypeInfo{DType::bf16, "bfloat16", 2}, DTypeInfo{DType::f32, "float32", 4},
    DTypeInfo{DType::f64, "float64", 8}};

static_assert(is_indexed_by(kDTypes, &DTypeInfo::dtype));

const DTypeInfo& info(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::int64_t size_bytes(DType dtype) { return info(dtype).bytes; }
std::string_view name(DType dtype) { return info(dtype).name; }

DType dtype_from_name(std::string_view word) {
  for (const auto& entry : kDTypes) {
    if (entry.name == word) return entry.dtype;
  }
  throw Error(ErrorKind::usage, format("'{}' is no element type that Tally knows", word));
}

std::string_view name(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

Shape shape_of_rows(std::int64_t num_rows, std::span<const std::int64_t> row_shape) {
  Shape shape{num_rows};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

// A scalar has no dimensions and one element.
std::int64_t num_elements(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(std::span<const std::int64_t> shape) {
  return format("[{}]", fmt::join(shape, ", "));
}

TensorView contiguous_view(void* data, DType dtype, Shape shape, DeviceKind device) {
  auto strides = contiguous_strides(shape);
  return {data, dtype, std::move(shape), std::move(strides), device};
}

}  // namespace tally
