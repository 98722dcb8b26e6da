// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <tally/base/build_info.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/index_hash.hpp>

namespace tally {
namespace {

TEST(Clock, ProcessAgeGrowsFromTheLaunch) {
  const Stopwatch watch;
  const double age = process_age_s();
  EXPECT_GE(age, 0.0);
  EXPECT_LT(age, 3600.0);
  EXPECT_GE(process_age_s(), age);
  EXPECT_GE(watch.elapsed_s(), 0.0);
}

TEST(Clock, TimeStampsAreUtc) {
  EXPECT_THAT(utc_now_iso(), ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_THAT(utc_now_compact(), ::testing::MatchesRegex("20......T......Z"));
}

TEST(Host, HasNames) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_FALSE(cpu_model().empty());
}

TEST(BuildInfo, NamesVersionAndCompiler) {
  EXPECT_THAT(std::string(build_info().version),
              ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_FALSE(build_info().revision.empty());
  EXPECT_THAT(std::string(build_info().compiler), ::testing::HasSubstr(" "));
}

TEST(SampleMix, IsSplitMix64) {
  // The first outputs of SplitMix64 seeded with 0, from its authors' reference code.
  EXPECT_EQ(index_hash(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(index_hash(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
  // Equal plain sums, different evidence.
  EXPECT_NE(index_hash(1) + index_hash(2), index_hash(0) + index_hash(3));
}

}  // namespace
}  // namespace tally
