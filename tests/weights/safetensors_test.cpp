// SPDX-License-Identifier: Apache-2.0
#include "safetensors/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/weights/byte_source.hpp>

namespace tally::weights {
namespace {

using testing::HasSubstr;

std::string file(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes + header + std::string(data_bytes, '\1');
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

std::string refusal(const std::string& bytes) {
  try {
    read_safetensors(MemorySource(as_bytes(bytes)));
  } catch (const FormatError& error) {
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << bytes;
  return {};
}

TEST(SafetensorsTest, AllTypes) {
  const std::vector<std::pair<std::string, std::string>> types{
      {"F64", "float64"}, {"F32", "float32"}, {"F16", "float16"}, {"BF16", "bfloat16"},
      {"I64", "int64"},   {"I32", "int32"},   {"I16", "int16"},   {"I8", "int8"},
      {"U8", "uint8"},    {"BOOL", "bool"}};
  for (const auto& [word, torch_name] : types) {
    const auto bytes = size_bytes(*element_of_safetensors(word));
    const auto end = std::to_string(6 * bytes);
    const auto text =
        file(entry("\"" + word + "\"", "[2,3]", "[0," + end + "]"), to_size(6 * bytes));
    const auto weights = read_safetensors(MemorySource(as_bytes(text)));
    const auto& tensor = weights.tensors.at("a");
    EXPECT_EQ(name(tensor.type), torch_name);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 3}));
    ASSERT_EQ(tensor.parts.size(), 1u);
    EXPECT_EQ(tensor.parts[0].strides, (Shape{3, 1}));
    EXPECT_EQ(tensor.parts[0].num_bytes, static_cast<std::uint64_t>(6 * bytes));
    EXPECT_EQ(tensor.parts[0].offset + tensor.parts[0].num_bytes, text.size());
  }
}

TEST(SafetensorsTest, ScalarsEmptiesAndMetadata) {
  const auto text = file(
      R"({"__metadata__":{"format":"pt"},
          "none":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[4,4]},
          "one":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
      4);
  const auto weights = read_safetensors(MemorySource(as_bytes(text)));
  EXPECT_EQ(weights.tensors.size(), 2u);
  EXPECT_TRUE(weights.tensors.at("one").shape.empty());
  EXPECT_TRUE(weights.tensors.at("none").parts.empty());
}

TEST(SafetensorsTest, BytesOfNoTensorAreRefused) {
  const std::string two = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                              "b":{"dtype":"U8","shape":[4],"data_offsets":[)";
  EXPECT_EQ(refusal(file(two + "6,10]}}", 10)), "2 bytes before tensor 'b' are of no tensor");
  EXPECT_EQ(refusal(file(two + "4,8]}}", 9)), "its last 1 bytes are of no tensor");
  EXPECT_EQ(refusal(file("{}", 3)), "its last 3 bytes are of no tensor");
  const auto text = file(two + "4,8]}}", 8);
  EXPECT_EQ(read_safetensors(MemorySource(as_bytes(text))).tensors.size(), 2u);
}

TEST(SafetensorsTest, WhatIsRefused) {
  const auto f32 = [](const std::string& shape, const std::string& offsets) {
    return refusal(file(entry("\"F32\"", shape, offsets), 16));
  };
  EXPECT_EQ(f32("[4]", "[0,20]"), "tensor 'a': its bytes 0..20 reach past the file's 16");
  EXPECT_THAT(f32("[4]", "[8,4]"), HasSubstr("reach past"));
  EXPECT_THAT(f32("[3]", "[0,16]"), HasSubstr("16 bytes are not those of float32 [3]"));
  EXPECT_THAT(f32("[4]", "[0,15]"), HasSubstr("are not those of"));
  EXPECT_THAT(f32("[-4]", "[0,16]"), HasSubstr("not a list of sizes"));
  EXPECT_THAT(f32("4", "[0,16]"), HasSubstr("its shape is not a list"));
  EXPECT_THAT(f32("[4]", "[0]"), HasSubstr("data_offsets"));
  EXPECT_THAT(f32("[4]", "[-1,16]"), HasSubstr("data_offsets"));
  EXPECT_THAT(f32("[4294967296,4294967296]", "[0,0]"), HasSubstr("impossible size"));
  EXPECT_THAT(f32("[18446744073709551615]", "[0,4]"), HasSubstr("negative size"));
  EXPECT_THAT(refusal(file(entry("\"F8_E4M3\"", "[4]", "[0,4]"), 16)), HasSubstr("F8_E4M3"));
  EXPECT_THAT(refusal(file(entry("7", "[4]", "[0,4]"), 16)), HasSubstr("tensor 'a'"));
  EXPECT_THAT(refusal(file(R"({"a":3})", 16)), HasSubstr("tensor 'a'"));
  EXPECT_THAT(refusal(file(R"({"a":)" + std::string(1'000'000, '['), 16)),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(file(R"({"a\u0000":3})", 16)), HasSubstr(R"(tensor 'a\x00': its entry)"));
  EXPECT_THAT(refusal(file("{]", 16)), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(file("[1]", 16)), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                               "b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                           16)),
              HasSubstr("tensors 'a' and 'b' overlap"));
}

}  // namespace
}  // namespace tally::weights
