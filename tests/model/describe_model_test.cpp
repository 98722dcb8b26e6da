// SPDX-License-Identifier: Apache-2.0

#include <tally/model/describe_model.hpp>
#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DescribeTest, AModel) {
  const auto lines = describe_model(File("net.pt"));
  EXPECT_EQ(lines.at(0), "TorchScript model");
  EXPECT_THAT(lines, Contains("input image: float32 [batch, 3, 12, 12]"));
  EXPECT_THAT(lines, Contains("output logits: float32 [batch, 10], logits"));
  EXPECT_THAT(lines, Contains("classes: 10"));
  EXPECT_THAT(lines, Contains(HasSubstr("normalisation: RGB, (u8 * 0.00392")));
  EXPECT_THAT(lines, Contains("weights: swappable"));
  // 3*8*9+8, 2*8, 8*16*9+16, 400*10+10
  EXPECT_THAT(lines, Contains("parameters: 5418 values in 8 tensors, 21672 bytes"));
  EXPECT_THAT(lines, Contains("buffers: 17 values in 3 tensors, 72 bytes"));
  EXPECT_THAT(lines, Contains("  fc.weight float32 [10, 400]"));
  EXPECT_THAT(lines, Contains("operators of training: none is active"));
  EXPECT_THAT(describe_model(File("net_no_card.pt")), Contains("model card: none"));
}

TEST(DescribeTest, AModelInTrainingMode) {
  EXPECT_THAT(describe_model(File("net_traced_training.pt")),
              AllOf(Contains(ContainsRegex("^active in training mode: aten::batch_norm \\(batch "
                                           "statistics\\) at .*fixture_nets.py:[0-9]+$")),
                    Contains(HasSubstr("active in training mode: aten::dropout (dropout) at "))));
}

TEST(DescribeTest, AnythingElseIsRefused) {
  EXPECT_THAT(error_of(ErrorKind::model, [] { describe_model(File("text.txt")); }),
              HasSubstr("is a text file"));
}

}  // namespace
}  // namespace tally::model
