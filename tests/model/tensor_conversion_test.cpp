// SPDX-License-Identifier: Apache-2.0
#include "tensor_conversion.hpp"

#include <array>
#include <cstring>
#include <span>

#include <gtest/gtest.h>

#include <ATen/Functions.h>

#include "expect_error.hpp"

namespace tally::model {
namespace {

class ViewsOf : public testing::TestWithParam<DType> {};

TEST_P(ViewsOf, ATensorShareItsMemoryAndType) {
  alignas(8) std::array<std::byte, 6 * 8> memory{};
  const auto tensor = wrap(contiguous_view(memory.data(), GetParam(), {2, 3}), device::Device{});
  EXPECT_EQ(dtype_name(tensor), name(GetParam()));
  EXPECT_EQ(shape_text(tensor), "[2, 3]");
  EXPECT_EQ(tensor.const_data_ptr(), memory.data());
  const auto view = view_of(tensor);
  EXPECT_EQ(view.data, memory.data());
  EXPECT_EQ(view.dtype, GetParam());
  EXPECT_EQ(view.shape, (Shape{2, 3}));
  EXPECT_EQ(view.strides, (Shape{3, 1}));
  EXPECT_EQ(view.device, DeviceKind::cpu);
}

INSTANTIATE_TEST_SUITE_P(Each, ViewsOf,
                         testing::Values(DType::u8, DType::i8, DType::i16, DType::i32, DType::i64,
                                         DType::bf16, DType::f32));

// Predictors give scores of these as float32, so that no other room has to know them.
TEST(TensorViews, AreOfKnownTypesAlone) {
  for (const auto type : {at::kHalf, at::kDouble, at::kBool, at::kComplexFloat}) {
    const auto tensor = at::zeros({2}, type);
    expect_error(ErrorKind::model, {"an element type that tally does not take"},
                 [&] { view_of(tensor); });
  }
}

TEST(TensorsOf, ViewsKeepTheirStrides) {
  std::array<float, 6> numbers{0, 1, 2, 3, 4, 5};
  const TensorView transposed{numbers.data(), DType::f32, {3, 2}, {1, 3}, DeviceKind::cpu};
  EXPECT_EQ(wrap(transposed, device::Device{})[1][1].item<float>(), 4);
}

TEST(TensorsOf, NoViewOfAnotherDeviceOrWithoutStrides) {
  std::array<float, 2> numbers{};
  const auto refused = [](const TensorView& view) {
    expect_error(ErrorKind::internal, {"is not a tensor on the model's device"},
                 [&] { wrap(view, device::Device{}); });
  };
  refused(contiguous_view(numbers.data(), DType::f32, {2}, DeviceKind::cuda));
  refused({numbers.data(), DType::f32, {2}, {}, DeviceKind::cpu});
}

// A file may put a tensor at any byte, of which kernels could not read whole numbers.
TEST(TensorsOf, StoredPartsAreCopiedOnlyWhereTheyAreNotAligned) {
  using weights::ElementType;
  for (const auto type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
                          ElementType::i64, ElementType::i32, ElementType::i16, ElementType::i8,
                          ElementType::u8, ElementType::boolean}) {
    SCOPED_TRACE(name(type));
    const auto size = static_cast<std::size_t>(size_bytes(type));
    alignas(8) std::array<std::byte, 1 + 2 * 8> memory{};
    memory[size] = memory[size + 1] = std::byte{1};  // in the second number, wherever it begins
    weights::StoredPart part;
    part.shape = {2};
    part.strides = part.element_strides = {1};
    const auto aligned = wrap(part, type, std::span(memory).first(2 * size));
    EXPECT_EQ(dtype_name(aligned), name(type));
    EXPECT_EQ(aligned.const_data_ptr(), memory.data());
    const auto shifted = wrap(part, type, std::span(memory).subspan(1, 2 * size));
    EXPECT_EQ(shifted.const_data_ptr() == memory.data() + 1, size == 1);
    EXPECT_EQ(std::memcmp(shifted.const_data_ptr(), memory.data() + 1, 2 * size), 0);
  }
}

}  // namespace
}  // namespace tally::model
