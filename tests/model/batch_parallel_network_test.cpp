// SPDX-License-Identifier: Apache-2.0
// Batches that threads share: who runs what, and what happens where that cannot be.
#include "batch_parallel_network_fixture.hpp"

#include <atomic>
#include <barrier>
#include <latch>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::model {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(SplitTest, EachThreadRunsAPieceAtTheSameTime) {
  std::barrier all_begun(4);  // ends only if all run at once
  std::atomic<bool> is_rehearsed = false;
  scene.function = [&](const Tensors& inputs) {
    if (is_rehearsed) all_begun.arrive_and_wait();
    return inputs[0] * 2;
  };
  run(4, 32);
  is_rehearsed = true;
  forget();
  EXPECT_TRUE(network().run({batch(32)}).front().equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(scene.operator_threads, Each(1));
  EXPECT_EQ(scene.callers.size(), 4U);
  EXPECT_EQ(network().form(), "played, 8 at a time");
  EXPECT_THAT(network().notes(), ElementsAre());
}

TEST_F(SplitTest, OneThreadRunsPieceAfterPiece) {
  EXPECT_TRUE(run(1, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8));
  EXPECT_EQ(scene.callers.size(), 1U);
}

TEST_F(SplitTest, ThreadsThatAreLeftShareOperations) {
  EXPECT_TRUE(run(8, 4).equal(batch(4) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(scene.operator_threads, Each(2));
  EXPECT_THAT(network().notes(), ElementsAre(HasSubstr("a --batch-size of 32 or more would do")));
}

TEST_F(SplitTest, TheLastPieceIsFilledUp) {
  for (const std::int64_t batch_size : {15, 17, 31, 33}) {
    EXPECT_TRUE(run(2, batch_size).equal(batch(batch_size) * 2)) << batch_size;
    EXPECT_THAT(scene.rows, Each(scene.rows.front()));
    EXPECT_GE(scene.rows.front() * static_cast<std::int64_t>(scene.rows.size()), batch_size);
  }
}

TEST_F(SplitTest, OnePieceIsTheBatch) {
  scene.micro_batch_size = 64;
  EXPECT_TRUE(run(1, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(32));
  EXPECT_EQ(network().form(), "played");
}

// What it became may want more rows than what it was.
TEST_F(SplitTest, TheRehearsedFormHasTheLastWord) {
  scene.least_rows = 16;
  EXPECT_TRUE(run(1, 32).equal(batch(32) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(16, 16));
}

TEST_F(SplitTest, AFewSamplesSettleHowBatchesAreCut) {
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  const auto scores = network.warm_up_small({batch(3)}, 64);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->front().size(0), 3);
  EXPECT_EQ(network.form(), "played, 8 at a time");
  forget();
  EXPECT_TRUE(network.run({batch(64)}).front().equal(batch(64) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
}

// A timed batch must not settle everything again.
TEST_F(SplitTest, ARehearsalOfTheSameTriesNothingAgain) {
  run(1, 32);
  network().warm_up({batch(32)});
  EXPECT_THAT(scene.rows, ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
}

TEST_F(SplitTest, WhatRehearsedLastCounts) {
  run(2, 32);
  network().warm_up({batch(2)});
  EXPECT_EQ(network().form(), "played");
  network().warm_up({batch(16)});
  forget();
  EXPECT_TRUE(network().run({batch(16)}).front().equal(batch(16) * 2));
  EXPECT_THAT(scene.rows, ElementsAre(8, 8));
}

TEST_F(SplitTest, TheFirstRunRehearsesWhereNobodyHas) {
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  EXPECT_TRUE(network.run({batch(32)}).front().equal(batch(32) * 2));
  EXPECT_EQ(network.form(), "played, 8 at a time");
}

TEST_F(SplitTest, AllInputsAreSplit) {
  scene.function = [](const Tensors& inputs) { return inputs[0] + inputs[1]; };
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(network.run({batch(32), batch(32) * 10}).front().equal(batch(32) * 11));
  }
}

TEST_F(SplitTest, AllOutputsAreJoined) {
  scene.has_two_outputs = true;
  BatchParallelNetwork network(std::make_unique<PlayedNetwork>(scene), 2);
  for (int i = 0; i < 2; ++i) {
    const auto outputs = network.run({batch(32)});
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_TRUE(outputs[0].equal(batch(32) * 2));
    EXPECT_TRUE(outputs[1].equal((batch(32) * 2).sum(1) + 1));
  }
}

TEST_F(SplitTest, PiecesBeginAtAlignedAddresses) {
  std::atomic<int> num_odd = 0;
  scene.function = [&](const Tensors& inputs) {
    num_odd += reinterpret_cast<std::uintptr_t>(inputs[0].const_data_ptr()) % 64 != 0 ? 1 : 0;
    return inputs[0] * 2;
  };
  EXPECT_TRUE(run(2, 18).equal(batch(18) * 2));
  EXPECT_EQ(num_odd, 0);
}

// One that fails must not go while others work on what it held.
TEST_F(SplitTest, AFailureEndsTheBatchWhenAllHaveEnded) {
  std::atomic<int> num_ended = 0;
  std::latch* others_may_end = nullptr;
  scene.function = [&](const Tensors& inputs) {
    if (inputs[0].ge(999).any().item<bool>()) {
      others_may_end->count_down();
      throw Error(ErrorKind::model, "too large");
    }
    if (others_may_end != nullptr) {  // and then they take their time
      others_may_end->wait();
      at::ones({1 << 20}).sum();
    }
    ++num_ended;
    return inputs[0] * 2;
  };
  run(4, 32);
  for (const std::int64_t row : {0, 9, 31}) {
    num_ended = 0;
    std::latch failed(1);
    others_may_end = &failed;
    auto bad = batch(32);
    bad[row].fill_(999);
    EXPECT_THROW(network().run({bad}), Error);
    EXPECT_EQ(num_ended, 3);
  }
  others_may_end = nullptr;
  EXPECT_TRUE(network().run({batch(32)}).front().equal(batch(32) * 2));
}

}  // namespace
}  // namespace tally::model
