// SPDX-License-Identifier: Apache-2.0
#include "reading/block_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tally::data {
namespace {

BlockCache::Block block_of(int value) {
  auto block = std::make_shared<std::byte[]>(1);
  block[0] = static_cast<std::byte>(value);
  return block;
}

class Cache : public testing::Test {
 protected:
  int get(int number) {
    return static_cast<int>(cache_.get(number, [&] {
      ++made_;
      return block_of(number);
    })[0]);
  }

  BlockCache cache_;
  std::atomic<int> made_ = 0;
};

TEST_F(Cache, KeepsTheLastUsedBlocks) {
  cache_.set_capacity(2);
  for (const int number : {1, 2, 1, 3, 1}) EXPECT_EQ(get(number), number);
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(get(2), 2);  // was given up for 3
  EXPECT_EQ(made_, 4);
}

TEST_F(Cache, ClearedItMakesAllAnew) {
  get(1);
  cache_.clear();
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(made_, 2);
}

TEST_F(Cache, AFailureIsThrownAndNotKept) {
  const auto fails = []() -> BlockCache::Block { throw std::runtime_error("no such block"); };
  EXPECT_THROW(cache_.get(1, fails), std::runtime_error);
  cache_.prepare(1, fails);
  EXPECT_EQ(get(1), 1);
}

TEST_F(Cache, WhatIsPreparedIsNotMadeAgain) {
  cache_.set_capacity(2);
  cache_.prepare(1, [&] {
    ++made_;
    return block_of(1);
  });
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(made_, 1);
  cache_.prepare(1, []() -> BlockCache::Block { throw std::runtime_error("made again"); });
}

TEST_F(Cache, WhoComesSecondDoesSomethingElseThenGetsTheSame) {
  std::promise<void> may_end;
  std::latch begun(1);
  std::jthread first([&] {
    cache_.get(1, [&] {
      begun.count_down();
      may_end.get_future().wait();
      return block_of(7);
    });
  });
  begun.wait();
  const auto block = cache_.get(
      1, [&]() -> BlockCache::Block { throw std::runtime_error("made twice"); },
      [&] { may_end.set_value(); });
  EXPECT_EQ(block[0], std::byte{7});
}

TEST_F(Cache, WhoWaitsGetsTheFailure) {
  std::promise<void> may_end;
  std::latch begun(1);
  std::jthread first([&] {
    EXPECT_THROW(cache_.get(1,
                            [&]() -> BlockCache::Block {
                              begun.count_down();
                              may_end.get_future().wait();
                              throw std::runtime_error("no such block");
                            }),
                 std::runtime_error);
  });
  begun.wait();
  EXPECT_THROW(cache_.get(
                   1, [] { return block_of(1); }, [&] { may_end.set_value(); }),
               std::runtime_error);
}

}  // namespace
}  // namespace tally::data
