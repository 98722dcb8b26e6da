// SPDX-License-Identifier: Apache-2.0
#include <tally/weights/element_type.hpp>

#include <gtest/gtest.h>

namespace tally::weights {
namespace {

struct Expected {
  std::string_view torch, storage, safetensors;
  std::int64_t bytes;
};

// As torch.<name>.itemsize, the classes of torch's legacy storages, and the specification of
// safetensors have them.
constexpr Expected kTypes[] = {
    {"float64", "DoubleStorage", "F64", 8}, {"float32", "FloatStorage", "F32", 4},
    {"float16", "HalfStorage", "F16", 2},   {"bfloat16", "BFloat16Storage", "BF16", 2},
    {"int64", "LongStorage", "I64", 8},     {"int32", "IntStorage", "I32", 4},
    {"int16", "ShortStorage", "I16", 2},    {"int8", "CharStorage", "I8", 1},
    {"uint8", "ByteStorage", "U8", 1},      {"bool", "BoolStorage", "BOOL", 1}};

TEST(ElementType, SizesAndNamesAreThoseOfTorchAndSafetensors) {
  for (const auto& expected : kTypes) {
    const auto type = element_named(expected.torch);
    ASSERT_TRUE(type) << expected.torch;
    EXPECT_EQ(name(*type), expected.torch);
    EXPECT_EQ(size_bytes(*type), expected.bytes) << expected.torch;
    EXPECT_EQ(element_of_storage(expected.storage), type) << expected.storage;
    EXPECT_EQ(element_of_safetensors(expected.safetensors), type) << expected.safetensors;
    EXPECT_EQ(safetensors_name(*type), expected.safetensors);
    EXPECT_EQ(is_floating_point(*type), expected.safetensors.find('F') != std::string_view::npos);
  }
  EXPECT_FALSE(element_named("complex64"));
  EXPECT_FALSE(element_of_safetensors("F8_E4M3"));
}

}  // namespace
}  // namespace tally::weights
