// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/fastest_batch_size.hpp>

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::evaluate {
namespace {

using testing::ElementsAre;

// A batch of n samples takes `fixed` + n * `each`.
std::function<double(std::int64_t)> linear(double fixed, double each) {
  return [=](std::int64_t size) { return fixed + static_cast<double>(size) * each; };
}

TEST(FastestBatchSizeTest, GrowsWhileAFixedCostIsSharedByMore) {
  EXPECT_EQ(fastest_batch_size({1, 1024, 100}, linear(1, 0.1)), 256);
  EXPECT_EQ(fastest_batch_size({16, 1024, 100}, linear(0, 0.1)), 16);
}

TEST(FastestBatchSizeTest, KeepsItsBounds) {
  EXPECT_EQ(fastest_batch_size({16, 100, 100}, linear(1, 0)), 64);
  EXPECT_EQ(fastest_batch_size({16, 16, 100}, linear(1, 0)), 16);
}

TEST(FastestBatchSizeTest, TriesNoMoreOnceABatchTakesLong) {
  std::vector<std::int64_t> tried;
  const auto slow = [&](std::int64_t size) {
    tried.push_back(size);
    return size < 64 ? 0.5 : 0.9;
  };
  EXPECT_EQ(fastest_batch_size({16, 1024, 0.8}, slow), 64);
  EXPECT_THAT(tried, ElementsAre(16, 32, 64));
}

TEST(FastestBatchSizeTest, WhatDoesNotFitIsTooLarge) {
  const auto small_memory = [](std::int64_t size) {
    if (size > 32) throw Error(ErrorKind::environment, "out of memory");
    return 1.0;
  };
  EXPECT_EQ(fastest_batch_size({16, 1024, 100}, small_memory), 32);
  EXPECT_THROW(fastest_batch_size({64, 1024, 100}, small_memory), Error);
}

}  // namespace
}  // namespace tally::evaluate
