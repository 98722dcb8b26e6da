// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/global_spearman.hpp>

#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/ordered_metrics/spearman.hpp>

#include "comm_fixture.hpp"
#include "slices.hpp"

namespace tally::distributed_metrics {
namespace {

using namespace ordered_metrics;

struct Pairs {
  std::int64_t num_outputs = 0;
  std::vector<float> predictions;  // [rows, outputs]
  std::vector<float> targets;      // [rows, outputs]

  std::int64_t num_rows() const { return std::ssize(targets) / num_outputs; }
  PairRows slice(const Slice& slice) const {
    PairRows rows;
    rows.num_rows = slice.count;
    rows.num_outputs = num_outputs;
    rows.first_index = slice.first;
    rows.read = [this, slice](std::int64_t first, std::int64_t count, std::span<float> a,
                              std::span<float> b) {
      const auto from = (slice.first + first) * num_outputs;
      std::copy_n(predictions.begin() + from, count * num_outputs, a.begin());
      std::copy_n(targets.begin() + from, count * num_outputs, b.begin());
    };
    return rows;
  }
};

Pairs random_pairs(std::uint64_t seed, std::int64_t num_rows, std::int64_t num_outputs,
                   int levels) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> level(-levels, levels);
  Pairs pairs{num_outputs, {}, {}};
  for (std::int64_t i = 0; i < num_rows * num_outputs; ++i) {
    pairs.targets.push_back(random() % 8 == 0 ? std::nanf("") : static_cast<float>(level(random)));
    pairs.predictions.push_back(static_cast<float>(level(random)) * -0.5F);
  }
  return pairs;
}

// A sum that fits into limb 0 and the sign above it.
SpearmanSums::Limbs small(std::int64_t sum) {
  return {sum & 0xffffffff, (sum >> 32) & 0xffffffff, sum < 0 ? -1 : 0};
}

// By definition: each element against each, weights as repetitions.
SpearmanSums slow_sums(const Pairs& pairs, std::int64_t output,
                       const std::function<std::int64_t(std::int64_t row)>& weight) {
  std::vector<std::array<float, 2>> elements;
  for (std::int64_t row = 0; row < pairs.num_rows(); ++row) {
    const auto at = static_cast<std::size_t>(row * pairs.num_outputs + output);
    if (std::isnan(pairs.targets[at])) continue;
    for (std::int64_t n = weight(row); n > 0; --n) {
      elements.push_back({pairs.predictions[at], pairs.targets[at]});
    }
  }
  std::int64_t sums[3] = {};
  for (const auto& a : elements) {
    std::int64_t rank[2] = {};
    for (const auto& b : elements) {
      for (std::size_t side = 0; side < 2; ++side) {
        rank[side] += b[side] < a[side] ? 1 : b[side] > a[side] ? -1 : 0;
      }
    }
    sums[0] += rank[0] * rank[0];
    sums[1] += rank[1] * rank[1];
    sums[2] += rank[0] * rank[1];
  }
  return {std::ssize(elements), small(sums[0]), small(sums[1]), small(sums[2])};
}

class RankCorrelationTest : public comm::CommTest {
 protected:
  PairRows local(const Pairs& pairs, int how) {
    return pairs.slice(slice_of(how, pairs.num_rows(), rank(), size()));
  }
};

TEST_F(RankCorrelationTest, SumsEqualTheSlowOnesForAnyDistributionOfTheRows) {
  for (const int levels : {1, 4, 1000}) {
    for (const std::int64_t num_rows : {0, 1, 3, 70}) {
      const Pairs pairs = random_pairs(static_cast<std::uint64_t>(levels), num_rows, 2, levels);
      std::vector<SpearmanSums> expected;
      for (std::int64_t output = 0; output < 2; ++output) {
        expected.push_back(slow_sums(pairs, output, [](std::int64_t) { return 1; }));
      }
      for (int how = 0; how < kNumSlicings; ++how) {
        EXPECT_EQ(sum_spearman(world(), local(pairs, how)), expected)
            << levels << " levels, " << num_rows << " rows, slicing " << how;
      }
    }
  }
}

TEST_F(RankCorrelationTest, BootstrapSumsAreThoseOfRepeatedRows) {
  const Pairs pairs = random_pairs(5, 40, 2, 6);
  std::vector<std::vector<SpearmanSums>> expected(4);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const metrics::PoissonWeights weights(13, r);
    for (std::int64_t output = 0; output < 2; ++output) {
      expected[r].push_back(slow_sums(pairs, output, [&](std::int64_t row) {
        return weights.of(static_cast<std::uint64_t>(row));
      }));
    }
  }
  for (int how = 0; how < kNumSlicings; ++how) {
    EXPECT_EQ(bootstrap_spearman(world(), local(pairs, how), 13, 4), expected) << "slicing " << how;
  }
}

TEST_F(RankCorrelationTest, OneProcessAloneFindsTheSame) {
  const Pairs pairs = random_pairs(5, 40, 2, 6);
  const LocalSpearman prepared(pairs.slice({0, 40}));
  std::vector<std::uint8_t> weights(40, 1);
  for (std::uint64_t r = 0; r < 4; ++r) {
    std::vector<SpearmanSums> expected;
    for (std::int64_t output = 0; output < 2; ++output) {
      expected.push_back(slow_sums(
          pairs, output, [&](std::int64_t row) { return weights[static_cast<std::size_t>(row)]; }));
    }
    EXPECT_EQ(prepared.sum(weights), expected) << r;
    if (r == 0) {
      EXPECT_EQ(prepared.sum({}), expected);
    }
    const metrics::PoissonWeights of_replicate(13, r);
    for (std::size_t row = 0; row < weights.size(); ++row) {
      weights[row] = static_cast<std::uint8_t>(of_replicate.of(row));
    }
  }
  EXPECT_THROW(prepared.sum(metrics::RowWeights(weights).first(39)), Error);
}

TEST_F(RankCorrelationTest, GroupsOfOutputsChangeNothing) {
  const Pairs pairs = random_pairs(6, 30, 5, 9);
  const auto expected = sum_spearman(world(), local(pairs, 0));
  for (const std::int64_t group_bytes : {0, 1, 2 * 30 * 8, 3 * 30 * 8}) {
    PairRows rows = local(pairs, 1);
    rows.max_group_bytes = group_bytes;
    EXPECT_EQ(sum_spearman(world(), rows), expected) << group_bytes;
  }
}

TEST_F(RankCorrelationTest, APredictionThatIsNanIsAgreedOn) {
  Pairs pairs = random_pairs(5, 40, 2, 6);
  pairs.targets[2 * 17 + 1] = 0;
  pairs.predictions[2 * 17 + 1] = std::nanf("");
  testing::internal::CaptureStderr();
  EXPECT_THROW(sum_spearman(world(), local(pairs, 2)), comm::AgreedFailure);
  const auto said = testing::internal::GetCapturedStderr();
  const bool is_mine = rank() == size() - 1;
  EXPECT_EQ(said.empty(), !is_mine) << said;
  if (is_mine) {
    EXPECT_THAT(said, testing::HasSubstr("output 1 of sample 17 is NaN"));
  }
}

TEST(Spearman, IsUndefinedWithoutVariance) {
  EXPECT_EQ(spearman(SpearmanSums{}), std::nullopt);
  EXPECT_EQ(spearman({3, {0, 0, 0}, {8, 0, 0}, {0, 0, 0}}), std::nullopt);
}

TEST(Spearman, OfTheLargestSumsStaysBetweenMinusOneAndOne) {
  // c^2 of 2^40 elements sums to about 2^120 / 3.
  const SpearmanSums::Limbs large{7, 11, (std::int64_t{1} << 56) / 3};
  EXPECT_EQ(spearman({std::int64_t{1} << 40, large, large, large}), 1.0);
  const SpearmanSums::Limbs opposite{(std::int64_t{1} << 32) - 7, (std::int64_t{1} << 32) - 12,
                                     -(std::int64_t{1} << 56) / 3 - 1};
  EXPECT_EQ(spearman({std::int64_t{1} << 40, large, large, opposite}), -1.0);
}

}  // namespace
}  // namespace tally::distributed_metrics
