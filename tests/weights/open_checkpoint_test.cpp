// SPDX-License-Identifier: Apache-2.0
// What is found in the files of torch.save and safetensors.
#include <tally/weights/checkpoint.hpp>

#include "fixture_file.hpp"

namespace tally::weights {
namespace {

using namespace std::literals;
using testing::Contains;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& name) {
  return describe(open_checkpoint(fixture_path(name), {}));
}

TEST(DescribeTest, NamesTensors) {
  for (const auto* name : {"state_dict.pth", "weights.safetensors"}) {
    const auto lines = lines_of(name);
    EXPECT_THAT(lines.at(0), HasSubstr(": 5435 values in 11 tensors")) << name;
    EXPECT_THAT(lines, Contains("  bn.num_batches_tracked int64 []")) << name;
    EXPECT_THAT(lines, Contains("  conv2.weight float32 [16, 8, 3, 3]")) << name;
    EXPECT_EQ(lines.size(), 12u) << name;
  }
  EXPECT_THAT(lines_of("legacy.pth"), Contains("found at: state_dict"));
  EXPECT_THAT(lines_of("deep_and_shallow.pth"), Contains("found at: state_dict"));
  EXPECT_THAT(lines_of("deep_and_less_deep.pth"), Contains("found at: state_dict.model"));
  EXPECT_THAT(lines_of("bfloat16.pth"), Contains("  fc.bias bfloat16 [10]"));
  EXPECT_THAT(lines_of("complex.pth"), Contains("  skipped 'bn.weight' (ComplexFloatStorage)"));
}

TEST(DescribeTest, NamesArePrintable) {
  Checkpoint checkpoint;
  checkpoint.kind = "a state_dict";
  checkpoint.tensors["a\0\n"s];
  EXPECT_EQ(describe(checkpoint).at(1), R"(  a\x00\x0a float32 [])");
}

TEST(CheckpointBytesTest, HoldAllOfIt) {
  for (const auto* name : {"nested.pth", "views.pth", "tied.safetensors", "complex.pth"}) {
    const auto checkpoint = open_checkpoint(fixture_path(name), {});
    const auto again = checkpoint_from_bytes(to_bytes(checkpoint));
    EXPECT_EQ(describe(again), describe(checkpoint)) << name;
    ASSERT_EQ(again.files.size(), 1u);
    EXPECT_EQ(again.files.front().num_bytes, checkpoint.files.front().num_bytes);
    for (const auto& [tensor_name, tensor] : checkpoint.tensors) {
      const auto& other = again.tensors.at(tensor_name);
      ASSERT_EQ(other.parts.size(), tensor.parts.size());
      for (std::size_t i = 0; i < tensor.parts.size(); ++i) {
        EXPECT_EQ(other.parts[i].offset, tensor.parts[i].offset);
        EXPECT_EQ(other.parts[i].num_bytes, tensor.parts[i].num_bytes);
        EXPECT_EQ(other.parts[i].strides, tensor.parts[i].strides);
        EXPECT_EQ(other.parts[i].element_strides, tensor.parts[i].element_strides);
      }
    }
  }
}

TEST(OpenCheckpointTest, WhatIsNoFileIsNamed) {
  EXPECT_THAT(error_of(ErrorKind::model, [] { open_checkpoint("/none/there.pt", {}); }),
              AllOf(HasSubstr("weights '/none/there.pt' cannot be read: No such file"),
                    HasSubstr("Check the path")));
  EXPECT_THAT(error_of(ErrorKind::model, [] { open_checkpoint("/dev/null", {}); }),
              HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace tally::weights
