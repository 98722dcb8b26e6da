// SPDX-License-Identifier: Apache-2.0
// What each rank did in its loop, as rank 0 reports it.
#include <gmock/gmock.h>

#include <tally/base/checked_cast.hpp>

#include "build_report.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"

namespace tally::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RankTimingsTest : public SessionFixture {
 protected:
  // Of ranks whose loops went like this one's, on these GPUs.
  report::RunReport report_of(const LoopStatistics& loop, const std::vector<std::string>& gpus) {
    auto session = open(data::SampleFile{});
    for (const auto& uuid : gpus) {
      session.hardware.placement.table.emplace_back().choice.device.uuid = uuid;
    }
    auto samples = empty_samples(session, {}, {});
    samples.loop = loop;
    Phases phases;
    phases.add("wait_for_ranks", 0.125);
    report::RunReport report;
    add_rank_timings(world(), session, LocalUnits(std::move(samples)), phases, report);
    return report;
  }
  std::vector<std::string> all_on(const std::string& gpu) {
    return std::vector<std::string>(to_size(size()), gpu);
  }
};

// Rank r evaluates 10 (r + 1) samples, two of them in its first batch, in r + 2 seconds, of which
// the first batch takes one.
TEST_F(RankTimingsTest, EachRankHasItsRow) {
  LoopStatistics loop;
  loop.stats.samples = 10 * (rank() + 1);
  loop.stats.first_batch_samples = 2;
  loop.stats.first_batch_s = 1;
  loop.stats.total_s = static_cast<double>(rank() + 2);
  loop.stats.prepare_s = 0.25;
  loop.stats.predict_s = 0.5;
  loop.stats.score_s = 0.125;
  loop.stats.wait_s = 0.0625;
  loop.bytes_read = 1000 + rank();
  const auto report = report_of(loop, all_on(""));
  ASSERT_EQ(std::ssize(report.timing.ranks), rank() == 0 ? size() : 0);
  if (rank() != 0) return;
  for (std::int64_t r = 0; r < size(); ++r) {
    const auto& row = report.timing.ranks[to_size(r)];
    EXPECT_EQ(row.rank, r);
    EXPECT_EQ(row.device, "cpu: a processor");
    EXPECT_EQ(row.samples, 10 * (r + 1));
    EXPECT_EQ(row.loop.total_s, static_cast<double>(r + 2));
    EXPECT_EQ(row.compute_s, 0.25 + 0.5 + 0.125);
    EXPECT_EQ(row.wait_s, 0.0625);
    EXPECT_EQ(row.wait_for_ranks_s, 0.125);
    EXPECT_EQ(row.bytes_read, 1000 + r);
    EXPECT_EQ(row.bytes_needed, 10 * (r + 1) * (36 + 8)) << "an image and a label each";
    EXPECT_FALSE(row.energy_j.has_value());
  }
  // 10 (1 + … + n) samples but for 2 n of the first batches, while the last rank took n seconds.
  const auto n = static_cast<double>(size());
  EXPECT_DOUBLE_EQ(report.timing.steady_samples_per_s.value(), (5 * n * (n + 1) - 2 * n) / n);
}

TEST_F(RankTimingsTest, OfOneBatchEachThereIsNoSteadyRate) {
  LoopStatistics loop;
  loop.stats.samples = loop.stats.first_batch_samples = 4;
  loop.stats.total_s = loop.stats.first_batch_s = 1;
  EXPECT_FALSE(report_of(loop, all_on("")).timing.steady_samples_per_s.has_value());
}

// All of them measured the same energy.
TEST_F(RankTimingsTest, ASharedGpuHasItsEnergyOnce) {
  LoopStatistics loop;
  loop.energy_j = 50;
  const auto report = report_of(loop, all_on("GPU-1"));
  for (const auto& row : report.timing.ranks) {
    EXPECT_EQ(row.gpu, "GPU-1");
    EXPECT_EQ(row.energy_j, row.rank == 0 ? std::optional(50.0) : std::nullopt);
  }
}

TEST_F(RankTimingsTest, AGpuOfItsOwnHasItsEnergyWhereItIsKnown) {
  std::vector<std::string> gpus;
  for (std::int64_t r = 0; r < size(); ++r) gpus.push_back("GPU-" + std::to_string(r));
  LoopStatistics loop;
  if (!is_last()) loop.energy_j = static_cast<double>(rank());
  for (const auto& row : report_of(loop, gpus).timing.ranks) {
    const bool is_known = row.rank < size() - 1;
    EXPECT_EQ(row.energy_j, is_known ? std::optional<double>(row.rank) : std::nullopt);
  }
}

// The last rank takes 10 s, all others 1 s: of two ranks the median is 5.5 s.
TEST_F(RankTimingsTest, ASlowRankIsNamed) {
  LoopStatistics loop;
  loop.stats.samples = 10;
  loop.stats.total_s = is_last() ? 10 : 1;
  const auto notes = report_of(loop, all_on("")).notes;
  if (rank() != 0 || size() == 1) {
    EXPECT_THAT(notes, IsEmpty());
    return;
  }
  const std::string factor = size() == 2 ? "1.8" : "10.0";
  EXPECT_THAT(notes, testing::ElementsAre(testing::AllOf(
                         testing::StartsWith("slow ranks: " + std::to_string(size() - 1) + " on "),
                         HasSubstr("(" + factor + " times the median)"))));
}

}  // namespace
}  // namespace tally::app
