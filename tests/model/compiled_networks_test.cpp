// SPDX-License-Identifier: Apache-2.0
// Compiled networks against the scores that PyTorch gives, eager and in double precision.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/winograd.hpp"
#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::ContainerEq;
using testing::Contains;
using testing::Each;
using testing::FloatNear;
using testing::Ge;
using testing::Pointwise;
using testing::ResultOf;
using testing::StartsWith;

std::unique_ptr<Predictor> load_compiled(const std::string& model) {
  return load_predictor(File(model), {});
}

class CompiledTest : public testing::TestWithParam<std::string> {};

TEST_P(CompiledTest, GivesTheScoresThatPyTorchGives) {
  EXPECT_THAT(run(*load_compiled(GetParam() + ".pt")),
              Pointwise(FloatNear(3e-6F), read_floats(GetParam() + ".exact.f32")));
}

// The first batch shows what cannot be fused; sums are written over what they read.
TEST_P(CompiledTest, EveryCallGivesTheSameBits) {
  auto predictor = load_compiled(GetParam() + ".pt");
  const auto first = run(*predictor);
  for (int call = 0; call < 3; ++call) EXPECT_THAT(run(*predictor), ContainerEq(first));
}

INSTANTIATE_TEST_SUITE_P(Networks, CompiledTest,
                         testing::Values("net", "Residual", "Concatenated", "SharedSums",
                                         "BroadcastSum", "OverwrittenInput", "ReluLast", "Scaled",
                                         "AddedTo", "SameUnderCast", "CastUsedLater", "PooledSums",
                                         "Unbatched", "Wide"));

// oneDNN's own ReLU makes zeros of them.
TEST(CompiledReluTest, KeepsNan) {
  for (const auto* network : {"NanInFirstLayer.pt", "NanInFirstMaxima.pt"}) {
    const auto scores = run(*load_compiled(network));
    ASSERT_EQ(scores.size(), 160u) << network;
    EXPECT_THAT(scores, Each(ResultOf([](float score) { return std::isnan(score); }, true)));
  }
}

// Classes of score zero are tied, and stay so.
TEST(CompiledReluTest, LeavesTheZerosOfScores) {
  for (const auto* network : {"ReluLast.pt", "Scaled.pt", "AddedTo.pt"}) {
    const auto scores = run(*load_compiled(network));
    EXPECT_THAT(scores, Contains(0.0F)) << network;
    EXPECT_THAT(scores, Each(Ge(0.0F))) << network;
  }
}

// Rank 0 tries batch sizes before it runs what all ranks run.
TEST(RehearsalTest, BatchesRehearsedBeforeLeaveNoTrace) {
  for (const auto* network :
       {"net.pt", "Residual.pt", "PooledSums.pt", "BroadcastSum.pt", "Wide.pt"}) {
    const auto fresh = load_compiled(network);
    const auto expected = run(*fresh);
    const auto predictor = load_compiled(network);
    for (const std::int64_t size : {1, 5, 16, 7}) {
      std::vector<std::int64_t> samples(to_size(size));
      std::iota(samples.begin(), samples.end(), 0);
      const auto batch = channels_last_batch(samples);
      predictor->warm_up({&batch.view, 1});
    }
    const auto all = channels_last_batch(in_order());
    predictor->warm_up({&all.view, 1});
    EXPECT_THAT(run(*predictor), ContainerEq(expected)) << network;
    EXPECT_EQ(predictor->form(), fresh->form()) << network;
    EXPECT_EQ(predictor->notes(), fresh->notes()) << network;
  }
}

TEST(RehearsalTest, AFewSamplesSettleWhatABatchSettles) {
  for (const std::string network :
       {"net", "Residual", "Concatenated", "OverwrittenInput", "AddedTo", "PooledSums", "Wide"}) {
    SCOPED_TRACE(network);
    const auto fresh = load_compiled(network + ".pt");
    const auto expected = run(*fresh);
    const auto predictor = load_compiled(network + ".pt");
    const auto few = channels_last_batch({2, 0, 1});
    for (const std::int64_t batch_size : {7, 16}) {
      const auto scores = predictor->warm_up_small({&few.view, 1}, batch_size);
      ASSERT_TRUE(scores);
      EXPECT_EQ(scores->front().shape.front(), 3);
    }
    EXPECT_EQ(predictor->form(), fresh->form());
    EXPECT_EQ(predictor->notes().size(), fresh->notes().size());
    EXPECT_THAT(run(*predictor), ContainerEq(expected));
  }
}

// One adds a weight with a row for each of 16 samples, the others what they make of the first
// sample.
TEST(RehearsalTest, NetworksThatNeedWholeBatchesDeclineAFew) {
  for (const auto* network : {"SharedSums.pt", "BroadcastSum.pt", "Unbatched.pt"}) {
    const auto predictor = load_compiled(network);
    const auto few = channels_last_batch({2, 0, 1});
    EXPECT_FALSE(predictor->warm_up_small({&few.view, 1}, 16)) << network;
    EXPECT_THAT(run(*predictor), ContainerEq(run(*load_compiled(network)))) << network;
  }
}

// What became of it, once a batch has shown what can.
TEST(FormTest, SaysWhatWasDone) {
  if (graph_optimizer::winograd_lanes() == 0) GTEST_SKIP() << "only for x86-64 with AVX2";
  const auto form = [](const std::string& network) {
    const auto predictor = load_compiled(network + ".pt");
    run(*predictor);
    return predictor->form();
  };
  EXPECT_THAT(form("Residual"), StartsWith("oneDNN Graph"));
  EXPECT_THAT(form("PooledSums"), StartsWith("pools without indices, oneDNN Graph"));
  EXPECT_THAT(form("Wide"), StartsWith("Winograd F(2x2, 3x3)"));
}

}  // namespace
}  // namespace tally::model
