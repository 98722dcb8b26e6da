// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/digest_encoding.hpp>

#include <cstring>

#include "curves.hpp"

namespace tally::ordered_metrics {
namespace {

template <class Results>
std::vector<std::byte> bytes_of(const Results& results) {
  std::vector<std::byte> all;
  pass_digest_bytes(results, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(CanonicalBytes, OfCurvesHoldEveryCount) {
  std::vector<CurveCounts> curves{slow_counts({0.9F, 0.8F, 0.5F, 0.5F}, {0, 1, 1, 0})};
  const auto bytes = bytes_of(std::span<const CurveCounts>(curves));
  ASSERT_EQ(bytes.size(), 4u * 8 + 2 * 4 + 6 * 8);
  const std::vector<std::int64_t> head{1, 2, 2, 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(value_at<std::int64_t>(bytes, 8 * i), head[i]);
  EXPECT_EQ(value_at<float>(bytes, 32), 0.8F);
  EXPECT_EQ(value_at<float>(bytes, 36), 0.5F);
  const std::vector<std::int64_t> counts{1, 1, 0, 1, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(value_at<std::int64_t>(bytes, 40 + 8 * i), counts[i]) << i;
  }
}

TEST(CanonicalBytes, OfRankSumsHoldEveryLimb) {
  const std::vector<SpearmanSums> sums{{4, {1, 2, 3}, {5, 6, 7}, {8, 9, -10}}};
  const auto bytes = bytes_of(std::span<const SpearmanSums>(sums));
  const std::vector<std::int64_t> expected{1, 4, 1, 2, 3, 5, 6, 7, 8, 9, -10};
  ASSERT_EQ(bytes.size(), 8 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(value_at<std::int64_t>(bytes, 8 * i), expected[i]) << i;
  }
}

}  // namespace
}  // namespace tally::ordered_metrics
