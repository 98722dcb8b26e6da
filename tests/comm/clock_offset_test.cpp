// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include <tally/comm/clock_offset.hpp>
#include <tally/trace/span_recording.hpp>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

class ClocksTest : public CommTest {};

TEST_F(ClocksTest, ThoseOfOneKernelAreOne) {
  EXPECT_EQ(compare_clocks(world()).offset_ns, 0) << "these ranks run under one kernel";
}

TEST(Clocks, AnotherNodeIsComparedByTheMedianOfItsRanks) {
  // Ranks 0 and 1 on one node, 2 and 3 on another, whose clock is 1000 behind; one of its six
  // comparisons was disturbed.
  const std::vector<std::int64_t> kernels{7, 7, 9, 9};
  const std::vector<std::int64_t> times{5000, 5002, 4000, 4001,  //
                                        6000, 6003, 5002, 5000,  //
                                        7000, 7001, 6000, 9000};
  EXPECT_EQ(offset_of(0, kernels, times), 0);
  EXPECT_EQ(offset_of(1, kernels, times), 0);
  EXPECT_EQ(offset_of(2, kernels, times), 1000);
  EXPECT_EQ(offset_of(3, kernels, times), 1000);
}

TEST(Clocks, DriftIsSpreadOverTheRun) {
  const ClockOffset first{1000, 50};
  const ClockOffset last{3000, 70};
  EXPECT_EQ(on_rank_0(1000, first, last), 1050);
  EXPECT_EQ(on_rank_0(2000, first, last), 2060);
  EXPECT_EQ(on_rank_0(3000, first, last), 3070);
  EXPECT_EQ(on_rank_0(0, first, last), 40) << "before the first comparison, too";
  EXPECT_EQ(on_rank_0(5, {5, 1}, {5, 2}), 7) << "no time between them";
}

TEST_F(ClocksTest, CollectivesShowInATrace) {
  trace::Recorder recorder({1, 100});
  world().barrier();
  static_cast<void>(world().gather("text"));
  const auto events = recorder.take();
  std::vector<std::string> names;
  for (const trace::Event& event : events) names.emplace_back(event.name());
  EXPECT_EQ(names, (std::vector<std::string>{"barrier", "all_gather", "gather"}));
}

}  // namespace
}  // namespace tally::comm
