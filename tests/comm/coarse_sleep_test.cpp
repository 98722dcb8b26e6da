// SPDX-License-Identifier: Apache-2.0
#include "coarse_sleep.hpp"

#include <sys/prctl.h>

#include <gtest/gtest.h>

namespace tally::comm {
namespace {

TEST(CoarseSleep, LastsAsLongAsItsObject) {
  prctl(PR_SET_TIMERSLACK, 50'000UL);
  const int before_ns = prctl(PR_GET_TIMERSLACK);
  if (before_ns != 50'000) GTEST_SKIP() << "this kernel refuses timer slack";
  {
    const CoarseSleep coarse;
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1'000'000);
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before_ns);
}

TEST(CoarseSleep, LeavesCoarserSleepsAsTheyAre) {
  prctl(PR_SET_TIMERSLACK, 2'000'000UL);
  const int before_ns = prctl(PR_GET_TIMERSLACK);
  if (before_ns != 2'000'000) GTEST_SKIP() << "this kernel refuses timer slack";
  {
    const CoarseSleep coarse;
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before_ns);
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), before_ns);
  prctl(PR_SET_TIMERSLACK, 50'000UL);
}

}  // namespace
}  // namespace tally::comm
