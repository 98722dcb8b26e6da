// SPDX-License-Identifier: Apache-2.0
#include "passes/row_reductions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "passes/deterministic_math.hpp"
#include "passes/row_reduction_loops.hpp"

namespace tally::metrics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_row(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> score(0.0f, 20.0f);
  std::vector<float> row(size);
  std::generate(row.begin(), row.end(), [&] { return score(random); });
  return row;
}

TEST(RowKernel, ExpIsRightToFourteenDigits) {
  for (double x = -707.9; x <= 0; x += 0.0137) {
    EXPECT_NEAR(exp_of_negative(x) / std::exp(x), 1.0, 1e-14) << x;
  }
  EXPECT_EQ(exp_of_negative(0.0), 1.0);
  for (const double x : {-709.0, -1e300, -std::numeric_limits<double>::infinity()}) {
    EXPECT_GE(exp_of_negative(x), 0.0);
    EXPECT_LT(exp_of_negative(x), 1e-300);
  }
}

// Scores that each kind of output may have.
std::vector<float> row_of(OutputKind kind, std::size_t size) {
  auto row = random_row(size, static_cast<unsigned>(size + 500));
  if (kind == OutputKind::logits) return row;
  for (float& score : row) score = 1.0f / (1.0f + std::abs(score));
  if (kind == OutputKind::log_probabilities) {
    for (float& score : row) score = -score;
  }
  return row;
}

// Whatever instructions the processor has.
TEST(RowKernel, GivesTheBitsOfThePlainLoops) {
  for (std::size_t size = 1; size <= 200; ++size) {
    for (const auto kind :
         {OutputKind::logits, OutputKind::log_probabilities, OutputKind::probabilities}) {
      auto row = row_of(kind, size);
      ASSERT_FALSE(has_bad_score(row, kind));
      const float peak = largest(row);
      EXPECT_EQ(peak, loops::largest(row));
      const Terms one = sum_terms(row, peak, kind);
      const Terms other = loops::sum_terms(row, peak, kind);
      EXPECT_EQ(one.sum, other.sum);
      EXPECT_EQ(one.squares, other.squares);
      const float some = row[size / 2];
      EXPECT_EQ(compare(row, some).greater, loops::compare(row, some).greater);
      EXPECT_EQ(compare(row, some).equal, loops::compare(row, some).equal);
      EXPECT_TRUE(all_fit_kind(row, kind));
      row[size / 3] = kind == OutputKind::log_probabilities ? 3.0f : -3.0f;
      EXPECT_EQ(all_fit_kind(row, kind), loops::all_fit_kind(row, kind));
      row[size / 4] = size % 2 == 0 ? kNaN : kInf;
      EXPECT_TRUE(has_bad_score(row, kind));
      EXPECT_TRUE(loops::has_bad_score(row, kind));
    }
  }
}

// Sizes around the lanes and blocks of the fast loops, against loops that have none.
TEST(RowKernel, AgreesWithPlainLoopsForAnySize) {
  for (std::size_t size = 1; size <= 200; ++size) {
    const auto row = random_row(size, static_cast<unsigned>(size));
    const float peak = *std::max_element(row.begin(), row.end());
    const float some = row[size / 2];
    long double sum = 0;
    long double squares = 0;
    for (const float value : row) {
      const long double term = std::exp(static_cast<long double>(value) - peak);
      sum += term;
      squares += term * term;
    }

    EXPECT_EQ(largest(row), peak);
    const Terms terms = sum_terms(row, peak, OutputKind::logits);
    EXPECT_NEAR(terms.sum / static_cast<double>(sum), 1.0, 1e-13);
    EXPECT_NEAR(terms.squares / static_cast<double>(squares), 1.0, 1e-13);
    const Comparison found = compare(row, some);
    EXPECT_EQ(found.equal, std::count(row.begin(), row.end(), some));
    EXPECT_EQ(found.greater,
              std::count_if(row.begin(), row.end(), [&](float value) { return value > some; }));
  }
}

TEST(RowKernel, SeesNanAndInfAtEveryPlace) {
  for (std::size_t place = 0; place < 37; ++place) {
    auto row = random_row(37, 1);
    EXPECT_FALSE(has_bad_score(row, OutputKind::probabilities));
    for (const float bad : {kNaN, -kNaN, kInf}) {
      row[place] = bad;
      EXPECT_TRUE(has_bad_score(row, OutputKind::logits)) << place;
    }
    row[place] = -kInf;
    EXPECT_TRUE(has_bad_score(row, OutputKind::probabilities)) << place;
    EXPECT_FALSE(has_bad_score(row, OutputKind::logits)) << place;
    EXPECT_FALSE(has_bad_score(row, OutputKind::log_probabilities)) << place;
  }
}

TEST(RowKernel, SeesScoresOfAnotherKindAtEveryPlace) {
  for (std::size_t place = 0; place < 37; ++place) {
    std::vector<float> row(37, 0.01f);
    EXPECT_TRUE(all_fit_kind(row, OutputKind::probabilities));
    row[place] = 1.1f;
    EXPECT_FALSE(all_fit_kind(row, OutputKind::probabilities)) << place;
    EXPECT_FALSE(all_fit_kind(row, OutputKind::log_probabilities)) << place;
    EXPECT_TRUE(all_fit_kind(row, OutputKind::logits)) << place;
    row[place] = -0.1f;
    EXPECT_FALSE(all_fit_kind(row, OutputKind::probabilities)) << place;
    EXPECT_TRUE(all_fit_kind(row, OutputKind::log_probabilities)) << place;
  }
}

TEST(Scalar, LogIsRightToFifteenDigits) {
  for (double x = 1e-300; x < 1e300; x *= 1.0137) {
    const long double exact = std::log(static_cast<long double>(x));
    EXPECT_NEAR(natural_log(x), static_cast<double>(exact), 4e-16 * std::abs(double(exact))) << x;
  }
  for (double x = 0.5; x < 2; x += 0.000137) {  // where the result is small
    const auto exact = static_cast<double>(std::log(static_cast<long double>(x)));
    EXPECT_NEAR(natural_log(x), exact, 4e-16 * std::abs(exact)) << x;
  }
  EXPECT_EQ(natural_log(1.0), 0.0);
  EXPECT_EQ(natural_log(0.0), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tally::metrics
