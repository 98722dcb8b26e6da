// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/ordered_metrics/local_curves.hpp>
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

#include "comm_fixture.hpp"
#include "curves.hpp"
#include "slices.hpp"

namespace tally::distributed_metrics {
namespace {

using namespace ordered_metrics;

using Values = std::vector<std::optional<double>>;

constexpr std::uint64_t kSeed = 21;
constexpr std::int64_t kReplicates = 7;
// Places kept or not; all replicates in one batch, some, or one.
constexpr std::array<std::array<std::int64_t, 2>, 4> kMemory{
    {{1 << 26, 1 << 26}, {0, 1 << 26}, {1 << 26, 1000}, {0, 1}}};

// AUROC and average precision of each class, one after the other.
ReplicateValues all_metrics(std::int64_t num_classes) {
  return {2 * num_classes,
          [](std::span<const CurveCounts> curves, std::span<std::optional<double>> values) {
            for (std::size_t c = 0; c < curves.size(); ++c) {
              values[2 * c] = auroc(curves[c]);
              values[2 * c + 1] = average_precision(curves[c]);
            }
          }};
}

// Every row as often as its weight says.
Scores resampled(const Scores& all, std::int64_t replicate) {
  const metrics::PoissonWeights weights(kSeed, static_cast<std::uint64_t>(replicate));
  Scores drawn{all.num_classes, {}, {}};
  for (std::size_t i = 0; i < all.scores.size(); ++i) {
    const auto times = static_cast<std::size_t>(weights.of(i / all.num_classes));
    if (i % all.num_classes != 0) continue;
    for (std::size_t n = 0; n < times; ++n) {
      const auto from = static_cast<std::ptrdiff_t>(i);
      const auto to = from + static_cast<std::ptrdiff_t>(all.num_classes);
      drawn.scores.insert(drawn.scores.end(), all.scores.begin() + from, all.scores.begin() + to);
      drawn.targets.insert(drawn.targets.end(), all.targets.begin() + from,
                           all.targets.begin() + to);
    }
  }
  return drawn;
}

std::vector<std::uint8_t> weights_of(std::int64_t replicate, std::int64_t num_rows) {
  const metrics::PoissonWeights weights(kSeed, static_cast<std::uint64_t>(replicate));
  std::vector<std::uint8_t> found;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(num_rows); ++i) {
    found.push_back(static_cast<std::uint8_t>(weights.of(i)));
  }
  return found;
}

class CurveBootstrapTest : public comm::CommTest {
 protected:
  ScoreRows local(const Scores& all, int how) {
    const Slice slice = slice_of(how, all.num_rows(), rank(), size());
    return all.slice(slice.first, slice.count);
  }
};

TEST_F(CurveBootstrapTest, ValuesAreThoseOfRepeatedRows) {
  for (const std::int64_t num_rows : {0, 1, 5, 80}) {
    const Scores all = random_scores(static_cast<std::uint64_t>(num_rows), num_rows, 3, 6);
    const ReplicateValues values = all_metrics(3);
    std::vector<Values> expected;
    for (std::int64_t r = 0; r < kReplicates; ++r) {
      expected.emplace_back(6);
      values.compute(slow_counts(resampled(all, r)), expected.back());
    }
    for (int how = 0; how < kNumSlicings; ++how) {
      for (const auto& [place_bytes, batch_bytes] : kMemory) {
        const CurveBootstrap options{kSeed, kReplicates, ScoreKeys::float32, place_bytes,
                                     batch_bytes};
        EXPECT_EQ(bootstrap_curves(world(), local(all, how), options, values), expected)
            << num_rows << " rows, slicing " << how << ", bytes " << place_bytes << ", "
            << batch_bytes;
      }
    }
  }
}

TEST_F(CurveBootstrapTest, OneProcessAloneFindsTheSame) {
  for (const std::int64_t num_rows : {0, 1, 5, 80}) {
    const Scores all = random_scores(static_cast<std::uint64_t>(num_rows), num_rows, 3, 6);
    const LocalCurves prepared(all.slice(0, num_rows), ScoreKeys::float32);
    std::vector<CurveCounts> curves;
    prepared.count({}, curves);
    EXPECT_EQ(curves, slow_counts(all));
    const ReplicateValues values = all_metrics(3);
    for (std::int64_t r = 0; r < kReplicates; ++r) {
      Values expected(6);
      values.compute(slow_counts(resampled(all, r)), expected);
      prepared.count(weights_of(r, num_rows), curves);
      Values found(6);
      values.compute(curves, found);
      EXPECT_EQ(found, expected) << num_rows << " rows, replicate " << r;
    }
    EXPECT_THROW(prepared.count(weights_of(0, num_rows + 1), curves), Error);
  }
}

TEST_F(CurveBootstrapTest, WhatAMetricThrowsIsAgreedOn) {
  const Scores all = random_scores(8, 20, 1, 0);
  const ReplicateValues values{1, [](auto&&...) { throw Error(ErrorKind::usage, "planted"); }};
  testing::internal::CaptureStderr();
  EXPECT_THROW(bootstrap_curves(world(), local(all, 0), {kSeed, 1}, values), comm::AgreedFailure);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.empty(), rank() != 0) << said;
}

}  // namespace
}  // namespace tally::distributed_metrics
