// SPDX-License-Identifier: Apache-2.0
// Where time went, on made-up timings.
#include "report_fixture.hpp"

#include <tally/report/efficiency.hpp>

namespace tally::report {
namespace {

using ::testing::DoubleNear;

// Two ranks: phases of 8 s in the mean, and 2 s of publishing.
RunReport timed_report() {
  RunReport report;
  report.timing.phases = {{"launch", 0, 1, 0},   {"load_model", 0, 0.5, 0},
                          {"evaluate", 0, 5, 0}, {"wait_for_ranks", 0, 1, 0},
                          {"reduce", 0, 0.2, 0}, {"gather", 0, 0.3, 0}};
  report.timing.publish_s = 2;
  report.timing.ranks.resize(2);
  report.timing.ranks[0].loop.wait_s = 1;
  report.timing.ranks[1].loop.wait_s = 3;
  report.timing.wall_s = 10;
  report.timing.ranks[0].samples = 300;
  report.timing.ranks[1].samples = 200;
  return report;
}

TEST(Waste, IsSharesOfRankSeconds) {
  const Waste waste = efficiency_losses(timed_report()).value();
  EXPECT_DOUBLE_EQ(waste.rank_seconds, 20);
  EXPECT_DOUBLE_EQ(waste.startup, 0.15);
  EXPECT_DOUBLE_EQ(waste.wait_for_data, 0.2);
  EXPECT_DOUBLE_EQ(waste.wait_for_slowest_rank, 0.1);
  EXPECT_DOUBLE_EQ(waste.publishing, 0.23);
  EXPECT_THAT(waste.useful, DoubleNear(0.32, 1e-12)) << "3 s of the loop and 0.2 s of reducing";
}

TEST(Waste, IsUnknownWithoutTimes) {
  EXPECT_FALSE(efficiency_losses({}));
  RunReport report;
  report.timing.ranks.resize(1);
  EXPECT_FALSE(efficiency_losses(report));
  EXPECT_FALSE(overall_samples_per_s(report));
}

TEST(Waste, OverallRateCountsTheWholeRun) {
  EXPECT_DOUBLE_EQ(overall_samples_per_s(timed_report()).value(), 50);
}

RankTimings rank_of(int rank, std::int64_t samples, double loop_s) {
  RankTimings values{rank, "node", "cpu", samples};
  values.loop.total_s = loop_s;
  return values;
}

std::vector<int> slow_ranks(const std::vector<RankTimings>& ranks) {
  std::vector<int> numbers;
  for (const auto& slow : stragglers_of(ranks)) numbers.push_back(slow.rank);
  return numbers;
}

TEST(Stragglers, AreSlowerThanRanksWithAsManySamples) {
  const std::vector ranks{rank_of(0, 64, 10), rank_of(1, 64, 30), rank_of(2, 64, 10.5),
                          rank_of(3, 64, 9),  rank_of(4, 32, 5),  rank_of(5, 32, 6.5)};
  const auto slow = stragglers_of(ranks);
  ASSERT_EQ(slow.size(), 1u) << "rank 5 is 1.13 times its median of two";
  EXPECT_EQ(slow[0].rank, 1);
  EXPECT_DOUBLE_EQ(slow[0].factor, 30 / 10.25);
}

TEST(Stragglers, NeedFactorAndSeconds) {
  const auto three = [](double last_s) {
    return std::vector{rank_of(0, 8, 100), rank_of(1, 8, 100), rank_of(2, 8, last_s)};
  };
  EXPECT_EQ(slow_ranks(three(120)), std::vector<int>{}) << "not more than 1.2 times";
  EXPECT_EQ(slow_ranks(three(120.001)), std::vector<int>{2});
  EXPECT_EQ(slow_ranks({rank_of(0, 8, 0.1), rank_of(1, 8, 0.1), rank_of(2, 8, 1.0)}),
            std::vector<int>{})
      << "a second is not lost";
}

TEST(Stragglers, AreNotThereAloneOrWithoutSamples) {
  EXPECT_EQ(slow_ranks({rank_of(0, 8, 100)}), std::vector<int>{});
  EXPECT_EQ(slow_ranks({rank_of(0, 8, 10), rank_of(1, 4, 100)}), std::vector<int>{});
  EXPECT_EQ(slow_ranks({rank_of(0, 0, 0), rank_of(1, 0, 0), rank_of(2, 0, 50)}),
            std::vector<int>{});
}

TEST(Stragglers, AreNamedTheSlowestFirst) {
  EXPECT_EQ(stragglers_note({}), "");
  EXPECT_EQ(stragglers_note({{3, "node7", 1.84}}), "slow ranks: 3 on node7 (1.8 times the median)");
  EXPECT_EQ(stragglers_note({{3, "node7", 123.4}}),
            "slow ranks: 3 on node7 (123.4 times the median)");
  EXPECT_EQ(stragglers_note({{0, "a", 1.3}, {1, "b", 2}, {2, "c", 1.5}, {3, "d", 1.25}}),
            "slow ranks: 1 on b (2.0 times the median), 2 on c (1.5 times the median), "
            "0 on a (1.3 times the median), and 1 more");
}

TEST(Energy, IsCountedOncePerGpu) {
  std::vector<RankTimings> ranks{rank_of(0, 8, 1), rank_of(1, 8, 1), rank_of(2, 8, 1)};
  EXPECT_FALSE(energy_j({}));
  EXPECT_FALSE(energy_j(ranks)) << "on CPUs";
  for (auto& rank : ranks) rank.gpu = "GPU-0";
  ranks[0].energy_j = 5;
  EXPECT_EQ(energy_j(ranks), 5) << "the others share it";
  ranks[2].gpu = "GPU-1";
  EXPECT_FALSE(energy_j(ranks)) << "that of one GPU is not known";
  ranks[2].energy_j = 2;
  EXPECT_EQ(energy_j(ranks), 7);
}

}  // namespace
}  // namespace tally::report
