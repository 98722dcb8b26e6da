// SPDX-License-Identifier: Apache-2.0
// A watch that one rank is asked to end by a signal: all ranks end it, and it can go on later.
#include <csignal>

#include <tally/base/interrupt.hpp>

#include "run_watch_fixture.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;

using StopWatchTest = RunWatchFixture;

TEST_F(StopWatchTest, ASignalToOneRankEndsAllAndLeavesTheRestForLater) {
  constexpr int kResumable = 75;
  on_root([&] {
    write_data(5);
    put("state_dict.pth", "1.pth");
  });
  const StopOnInterrupt asks;
  if (rank() == size() - 1) std::raise(SIGUSR1);
  EXPECT_EQ(watch(), kResumable);
  if (!world().is_root()) return;
  EXPECT_THAT(printed_, HasSubstr("Watched   0 checkpoints evaluated, 0 passed over; "));
  EXPECT_THAT(printed_, HasSubstr("Stopped   the same command goes on from here\n"));
  EXPECT_TRUE(watch::Leaderboard(folder_ / "out").entries().empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/results"));
}

}  // namespace
}  // namespace tally::app
