// Fused convolutions against the scores that PyTorch gives, eager and in double precision.
#include <algorithm>
#include <cmath>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::AllOf;
using testing::ContainerEq;
using testing::Contains;
using testing::Each;
using testing::FloatNear;
using testing::Ge;
using testing::Gt;
using testing::Lt;
using testing::Pointwise;
using testing::ResultOf;

class FusedTest : public testing::TestWithParam<std::string> {};

TEST_P(FusedTest, GivesTheScoresThatPyTorchGives) {
  EXPECT_THAT(run(*load(GetParam() + ".pt")),
              Pointwise(FloatNear(3e-6F), read_floats(GetParam() + ".exact.f32")));
}

// The first batch shows what cannot be fused; sums are written over what they read.
TEST_P(FusedTest, EveryCallGivesTheSameBits) {
  auto predictor = load(GetParam() + ".pt");
  const auto first = run(*predictor);
  for (int call = 0; call < 3; ++call) EXPECT_THAT(run(*predictor), ContainerEq(first));
}

INSTANTIATE_TEST_SUITE_P(Networks, FusedTest,
                         testing::Values("net", "Residual", "SharedSums", "BroadcastSum",
                                         "OverwrittenInput", "ReluLast", "HiddenRelu"));

// oneDNN's own ReLU makes zeros of them.
TEST(FusedReluTest, KeepsNan) {
  const auto scores = run(*load("NanInFirstLayer.pt"));
  ASSERT_EQ(scores.size(), 160u);
  EXPECT_THAT(scores, Each(ResultOf([](float score) { return std::isnan(score); }, true)));
}

// Classes of score zero are tied, and stay so.
TEST(FusedReluTest, LeavesTheZerosOfScores) {
  const auto scores = run(*load("ReluLast.pt"));
  EXPECT_THAT(scores, Contains(0.0F));
  EXPECT_THAT(scores, Each(Ge(0.0F)));
}

// Otherwise nothing here would test fused networks.
TEST(FusedReluTest, IsFused) {
  EXPECT_THAT(run(*load("HiddenRelu.pt")), Contains(AllOf(Lt(0.0F), Gt(-1e-28F))));
}

}  // namespace
}  // namespace tally::model
