// SPDX-License-Identifier: Apache-2.0
#include "tensor_conversion.hpp"

#include <cstring>
#include <memory>

#include <ATen/ops/from_blob.h>
#include <c10/core/ScalarType.h>

#include <tally/base/error.hpp>
#include <tally/libtorch/torch_device_and_stream.hpp>

namespace tally::model {
namespace {

// Float16 and float64 are missing, because predictors hand these out as float32.
DType plain_type(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Byte:
      return DType::u8;
    case c10::ScalarType::Char:
      return DType::i8;
    case c10::ScalarType::Short:
      return DType::i16;
    case c10::ScalarType::Int:
      return DType::i32;
    case c10::ScalarType::Long:
      return DType::i64;
    case c10::ScalarType::BFloat16:
      return DType::bf16;
    case c10::ScalarType::Float:
      return DType::f32;
    default:
      throw Error(ErrorKind::model, "a model returned an element type that tally does not take");
  }
}

bool is_aligned(const void* data, std::int64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0;
}

}  // namespace

c10::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return c10::ScalarType::Byte;
    case DType::i8:
      return c10::ScalarType::Char;
    case DType::i16:
      return c10::ScalarType::Short;
    case DType::i32:
      return c10::ScalarType::Int;
    case DType::i64:
      return c10::ScalarType::Long;
    case DType::f16:
      return c10::ScalarType::Half;
    case DType::bf16:
      return c10::ScalarType::BFloat16;
    case DType::f32:
      return c10::ScalarType::Float;
    case DType::f64:
      return c10::ScalarType::Double;
  }
  throw Error(ErrorKind::internal, "an unknown element type");
}

c10::ScalarType scalar_type(weights::ElementType type) {
  using weights::ElementType;
  switch (type) {
    case ElementType::f64:
      return c10::ScalarType::Double;
    case ElementType::f32:
      return c10::ScalarType::Float;
    case ElementType::f16:
      return c10::ScalarType::Half;
    case ElementType::bf16:
      return c10::ScalarType::BFloat16;
    case ElementType::i64:
      return c10::ScalarType::Long;
    case ElementType::i32:
      return c10::ScalarType::Int;
    case ElementType::i16:
      return c10::ScalarType::Short;
    case ElementType::i8:
      return c10::ScalarType::Char;
    case ElementType::u8:
      return c10::ScalarType::Byte;
    case ElementType::boolean:
      return c10::ScalarType::Bool;
  }
  throw Error(ErrorKind::internal, "an unknown element type");
}

at::Tensor wrap(const TensorView& view, const device::Device& device) {
  // LibTorch would read memory of the other device without a question.
  if (view.device != device.kind || view.shape.size() != view.strides.size()) {
    throw Error(ErrorKind::internal, "a model's input is not a tensor on the model's device");
  }
  const auto where = libtorch::torch_device(device);
  // Nothing is copied, so the view's memory has to outlive the tensor.
  return at::for_blob(view.data, view.shape)
      .strides(view.strides)
      .options(at::TensorOptions().dtype(scalar_type(view.dtype)).device(where))
      .target_device(where)
      .make_tensor();
}

at::Tensor wrap(const weights::StoredPart& part, weights::ElementType type,
                std::span<const std::byte> bytes) {
  const auto options = at::TensorOptions().dtype(scalar_type(type));
  // from_blob() wants a pointer it could write to; weights are only copied from.
  auto* data = const_cast<std::byte*>(bytes.data());
  if (is_aligned(data, size_bytes(type))) {
    return at::from_blob(data, part.shape, part.strides, options);
  }
  // Files put tensors at any byte, but kernels read whole numbers. The copy goes with the tensor.
  auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  auto* owned = copy.release();
  return at::from_blob(
      owned, part.shape, part.strides, [](void* p) { delete[] static_cast<std::byte*>(p); },
      options);
}

TensorView view_of(const at::Tensor& tensor) {
  auto view =
      contiguous_view(tensor.data_ptr(), plain_type(tensor.scalar_type()), tensor.sizes().vec());
  view.device = tensor.is_cuda() ? DeviceKind::cuda : DeviceKind::cpu;
  return view;
}

std::string dtype_name(const at::Tensor& tensor) {
  return std::string(c10::getDtypeNames(tensor.scalar_type()).first);
}

std::string shape_text(const at::Tensor& tensor) { return tally::to_string(tensor.sizes()); }

}  // namespace tally::model
