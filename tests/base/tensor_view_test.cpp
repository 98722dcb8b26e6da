// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/tensor_view.hpp>

namespace tally {
namespace {

TEST(DType, NamesAndSizesAgree) {
  for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16,
                            DType::bf16, DType::f32, DType::f64}) {
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  }
  EXPECT_EQ(size_bytes(DType::u8), 1);
  EXPECT_EQ(size_bytes(DType::bf16), 2);
  EXPECT_EQ(size_bytes(DType::i64), 8);
  EXPECT_EQ(name(DType::f32), "float32");
  EXPECT_THROW(dtype_from_name("complex64"), Error);
}

TEST(Shape, CountsStridesAndText) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(num_elements(shape), 24);
  EXPECT_EQ(contiguous_strides(shape), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(to_string(shape), "[2, 3, 4]");
  EXPECT_EQ(num_elements(Shape{}), 1);
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(ContiguousView, KeepsPointerAndShape) {
  float values[6] = {};
  const TensorView view = contiguous_view(values, DType::f32, {2, 3});
  EXPECT_EQ(view.as<float>(), values);
  EXPECT_EQ(view.strides, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(view.device, DeviceKind::cpu);
}

}  // namespace
}  // namespace tally
