// SPDX-License-Identifier: Apache-2.0
#include <tally/plan/coverage.hpp>

#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/index_hash.hpp>

namespace tally::plan {
namespace {

CoverageEvidence operator+(const CoverageEvidence& a, const CoverageEvidence& b) {
  return {a.count + b.count, a.index_sum + b.index_sum, a.index_mix + b.index_mix};
}

TEST(ExpectedEvidence, CountsAndSums) {
  const CoverageEvidence evidence = expected_evidence({3, 3});

  EXPECT_EQ(evidence.count, 3);
  EXPECT_EQ(evidence.index_sum, 3u + 4u + 5u);
  EXPECT_EQ(evidence.index_mix, index_hash(3) + index_hash(4) + index_hash(5));
}

TEST(ExpectedEvidence, NoSamplesLeaveNone) {
  EXPECT_EQ(expected_evidence({42, 0}), CoverageEvidence{});
}

TEST(ExpectedEvidence, AddsUpOverAnyPartition) {
  const BatchGrid grid(1237, 16);
  for (const int world_size : {1, 2, 3, 5, 8, 100}) {
    CoverageEvidence sum;
    for (int rank = 0; rank < world_size; ++rank) {
      sum = sum + expected_evidence(grid.samples_of(grid.slice_of(rank, world_size)));
    }
    EXPECT_EQ(sum, expected_evidence({0, 1237})) << world_size << " ranks";
  }
}

TEST(ExpectedEvidence, SeesWhatCountAndSumDoNot) {
  // Samples 1 and 2 against 0 and 3: one dropped and one repeated, twice.
  const CoverageEvidence right = expected_evidence({1, 2});
  const CoverageEvidence wrong = expected_evidence({0, 1}) + expected_evidence({3, 1});

  EXPECT_EQ(right.count, wrong.count);
  EXPECT_EQ(right.index_sum, wrong.index_sum);
  EXPECT_NE(right.index_mix, wrong.index_mix);
}

TEST(ExpectedEvidence, RefusesNegativeRanges) {
  EXPECT_THROW(expected_evidence({-1, 3}), Error);
  EXPECT_THROW(expected_evidence({0, -3}), Error);
}

}  // namespace
}  // namespace tally::plan
