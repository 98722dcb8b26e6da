#include "row_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>

namespace tally::metrics {
namespace {

// Below it exp() is subnormal, which the sum of a row, at least 1, cannot feel.
constexpr double kSmallestExponent = -708.0;

// For x in [kSmallestExponent, 0].
// x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n * Taylor(r). Cody and Waite's split of ln 2
// keeps r exact; adding 1.5 * 2^52 rounds to an integer, which is then found in the low bits of the
// sum.
inline double exp_inline(double x) {
  constexpr double kRound = 0x1.8p52;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const double rounded = x * std::numbers::log2e + kRound;
  const double n = rounded - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // 1 + r + r^2/2! … r^11/11!, in pairs (Estrin): a short chain keeps the processor busy.
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double low = (1.0 + r) + (1.0 / 2 + r * (1.0 / 6)) * r2;
  const double middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
  const double high =
      (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
  const double p = low + (middle + high * r4) * r4;
  constexpr int kFractionBits = 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) +
                               (std::bit_cast<std::uint64_t>(rounded) << kFractionBits));
}

}  // namespace

double exp_of_negative(double x) { return exp_inline(std::max(x, kSmallestExponent)); }

float largest(std::span<const float> row) {
  // Independent lanes: one running maximum is a chain that no compiler may reorder.
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    }
  }
  for (; i < row.size(); ++i) lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  return *std::max_element(lanes.begin(), lanes.end());
}

bool has_nan_or_inf(std::span<const float> row, MinusInf minus_inf) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  constexpr std::uint32_t kMinusInf = 0xff800000;
  const std::uint32_t allowed = minus_inf == MinusInf::allowed ? kMinusInf : 0;
  std::uint32_t found = 0;
  for (const float value : row) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    found += std::uint32_t{(bits & kExponent) == kExponent} & std::uint32_t{bits != allowed};
  }
  return found != 0;
}

bool all_within(std::span<const float> row, float low, float high) {
  std::int32_t outside = 0;
  for (const float value : row) outside += static_cast<int>(value < low) + (value > high);
  return outside == 0;
}

Comparison compare(std::span<const float> row, float value) {
  Comparison found;
  for (const float other : row) {
    found.greater += other > value;
    found.equal += other == value;
  }
  return found;
}

double sum_exp(std::span<const float> row, float peak) {
  constexpr std::size_t kBlock = 64;
  constexpr std::size_t kLanes = 8;
  std::array<double, kBlock> terms;
  std::array<double, kLanes> lanes{};
  for (std::size_t first = 0; first < row.size(); first += kBlock) {
    const auto block = row.subspan(first, std::min(kBlock, row.size() - first));
    // Short loops one by one: together they have a branch that keeps them from being vector code.
    for (std::size_t i = 0; i < block.size(); ++i) terms[i] = double{block[i]} - double{peak};
    for (std::size_t i = 0; i < block.size(); ++i) terms[i] = std::max(terms[i], kSmallestExponent);
    for (std::size_t i = 0; i < block.size(); ++i) terms[i] = exp_inline(terms[i]);
    const std::size_t padded = (block.size() + kLanes - 1) / kLanes * kLanes;
    std::fill(terms.begin() + block.size(), terms.begin() + padded, 0.0);
    for (std::size_t i = 0; i < padded; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += terms[i + lane];
    }
  }
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

}  // namespace tally::metrics
