// SPDX-License-Identifier: Apache-2.0
// Networks that must see whole batches.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/flip.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

#include "batch_parallel_network_fixture.hpp"

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Mixing = at::Tensor (*)(const at::Tensor&);

class MixingTest : public SplitTest, public testing::WithParamInterface<Mixing> {};

TEST_P(MixingTest, NetworksThatMixSamplesGetWholeBatches) {
  for (const auto type : {at::kFloat, at::kLong}) {
    const auto numbers = batch(32).to(type);
    scene.function = [](const Tensors& inputs) { return GetParam()(inputs[0]); };
    for (const int threads : {1, 2}) {
      BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), threads);
      network.warm_up({numbers});
      forget();
      EXPECT_TRUE(network.run({numbers}).front().equal(GetParam()(numbers)));
      EXPECT_THAT(scene.rows, ElementsAre(32));
      EXPECT_THAT(network.notes(), ElementsAre(HasSubstr("depend on the others of its batch")));
    }
  }
}

// By what all have in common, what came before, what comes after, and for whole numbers.
INSTANTIATE_TEST_SUITE_P(
    Ways, MixingTest,
    testing::Values(
        [](const at::Tensor& x) { return x.to(at::kDouble) - x.to(at::kDouble).mean(0); },
        [](const at::Tensor& x) { return x.cumsum(0); },
        [](const at::Tensor& x) { return x.flip(0).cumsum(0).flip(0); },
        [](const at::Tensor& x) { return x.sum().gt(x.sum(1) * 2.5).to(at::kLong); }));

// Of many numbers: samples that hold one pattern have one mean, and the largest number in common.
class WideMixingTest : public MixingTest {};

TEST_P(WideMixingTest, NetworksThatMixSamplesGetWholeBatches) {
  constexpr std::int64_t kWidth = 3 * 224 * 224;
  for (const auto type : {at::kFloat, at::kLong}) {
    const auto numbers = at::arange(12 * kWidth).reshape({12, kWidth}).remainder(255).to(type);
    scene.function = [](const Tensors& inputs) { return GetParam()(inputs[0].to(at::kDouble)); };
    BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 1);
    network.warm_up({numbers});
    EXPECT_THAT(network.notes(), ElementsAre(HasSubstr("depend on the others of its batch")));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, WideMixingTest,
                         testing::Values([](const at::Tensor& x) { return (x - x.mean()).sum(1); },
                                         [](const at::Tensor& x) { return (x * x.mean()).sum(1); },
                                         [](const at::Tensor& x) {
                                           return (x / x.square().mean().sqrt()).sum(1);
                                         }));

// Of floating-point numbers the range, too. Whole ones are 0 and 1 in all samples.
TEST_F(SplitTest, NetworksThatScaleByTheRangeOfABatchGetWholeBatches) {
  const auto numbers = batch(32).to(at::kFloat);
  for (const Mixing scale :
       {Mixing([](const at::Tensor& x) { return x / x.abs().amax(); }),
        Mixing([](const at::Tensor& x) { return x / (x.amax() - x.amin()); })}) {
    scene.function = [scale](const Tensors& inputs) { return scale(inputs[0]); };
    BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 1);
    network.warm_up({numbers});
    EXPECT_THAT(network.notes(), ElementsAre(HasSubstr("depend on the others of its batch")));
  }
}

TEST_F(SplitTest, BatchesOfTwoStayWhole) {
  EXPECT_TRUE(run(2, 2).equal(batch(2) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(2));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
}

TEST_F(SplitTest, OtherSizesThanTheRehearsedRunWhole) {
  run(2, 32);
  forget();
  EXPECT_TRUE(network().run({batch(64)}).front().equal(batch(64) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(64));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
}

TEST_F(SplitTest, NetworksThatTakeWholeBatchesOnlyGetThem) {
  scene.function = [](const Tensors& inputs) {
    if (inputs[0].size(0) != 32) throw Error(ErrorKind::model, "32 only");
    return inputs[0] * 2;
  };
  EXPECT_TRUE(run(2, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32));
  EXPECT_THAT(scene.operator_threads, ElementsAre(2));
  EXPECT_THAT(network().notes(), ElementsAre(HasSubstr("instead of batches (32 only)")));
  scene.function = [](const Tensors& inputs) { return inputs[0] * 2; };
  network().warm_up({batch(64)});
  EXPECT_THAT(network().notes(), ElementsAre());
  EXPECT_EQ(network().form(), "played, 8 at a time");
}

// What befalls one rank alone must not change how it runs batches.
TEST_F(SplitTest, OnlyTheNetworkRefusesPieces) {
  scene.function = [](const Tensors&) -> at::Tensor {
    throw Error(ErrorKind::environment, "out of memory");
  };
  EXPECT_THROW(run(2, 32), Error);
  EXPECT_THAT(scene.rows, ElementsAre());
}

TEST_F(SplitTest, ATrialThatFailedForOtherReasonsIsMadeAgain) {
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  const auto function = scene.function;
  scene.function = [](const Tensors&) -> at::Tensor {
    throw Error(ErrorKind::environment, "out of memory");
  };
  EXPECT_THROW(network.warm_up_small({batch(3)}, 32), Error);
  EXPECT_EQ(at::get_num_threads(), 2);
  scene.function = function;
  network.warm_up({batch(32)});
  forget();
  EXPECT_TRUE(network.run({batch(32)}).front().equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8));
}

// The only samples at hand then are equal ones, which cannot show that others do not matter.
TEST_F(SplitTest, NetworksThatRefuseNumbersToBeTriedGetWholeBatches) {
  scene.function = [](const Tensors& inputs) {
    if (inputs[0].min().item<double>() < 0) throw Error(ErrorKind::model, "numbers above 0");
    return inputs[0] * 2;
  };
  const auto numbers = batch(32).to(at::kFloat);
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  network.warm_up({numbers});
  forget();
  EXPECT_TRUE(network.run({numbers}).front().equal(numbers * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32));
  EXPECT_THAT(network.notes(), ElementsAre(HasSubstr("numbers above 0")));
}

TEST_F(SplitTest, NetworksThatDeclineATrialGetWholeBatches) {
  scene.tries_samples = false;
  EXPECT_TRUE(run(2, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32));
}

TEST_F(SplitTest, ScoresWithoutARowForEachSampleAreLeftToTheCaller) {
  scene.function = [](const Tensors& inputs) { return inputs[0].sum(0); };
  EXPECT_EQ(run(2, 32).dim(), 1);
  EXPECT_THAT(scene.rows, ElementsAre(32));
}

// What fills up the last piece must not take the place of a row that is missing.
TEST_F(SplitTest, AMissingRowIsNoticed) {
  run(1, 31);
  scene.function = [](const Tensors& inputs) { return inputs[0].narrow(0, 0, 7); };
  EXPECT_THROW(network().run({batch(31)}), Error);
}

TEST_F(SplitTest, ScoresAsWideAsTheLongestSampleComeFromTheWholeBatch) {
  scene.function = [](const Tensors& inputs) {
    return inputs[0].narrow(1, 0, inputs[0].lt(90).all().item<bool>() ? 2 : 3);
  };
  EXPECT_TRUE(run(2, 32).equal(batch(32)));
}

// The pieces ran before it.
TEST_F(SplitTest, AWholeBatchIsNotWhatItsPiecesWroteOver) {
  scene.writes_over_inputs = true;
  scene.function = [](const Tensors& inputs) {
    const bool is_short = inputs[0].lt(90).all().item<bool>();
    return inputs[0].add_(1).narrow(1, 0, is_short ? 2 : 3);
  };
  EXPECT_TRUE(run(2, 32).equal(batch(32) + 1));
}

}  // namespace
}  // namespace tally::model
