// SPDX-License-Identifier: Apache-2.0
// The loops of row_reductions.hpp. Each set of instructions compiles them once, into functions that
// they are a part of; the operations are the same, and so are the bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include "passes/deterministic_math.hpp"
#include "passes/row_reductions.hpp"

namespace tally::metrics::loops {

[[gnu::always_inline]] inline float largest(std::span<const float> row) {
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

// Here and below flags are added up and loops have no early exit: without branches they are vector
// code.
[[gnu::always_inline]] inline bool has_bad_score(std::span<const float> row, OutputKind kind) {
  std::uint32_t found = 0;
  for (const float score : row) found += std::uint32_t{is_bad(score, kind)};
  return found != 0;
}

[[gnu::always_inline]] inline bool all_fit_kind(std::span<const float> row, OutputKind kind) {
  if (kind == OutputKind::logits) return true;
  std::uint32_t outside = 0;
  for (const float score : row) outside += std::uint32_t{!fits_kind(score, kind)};
  return outside == 0;
}

[[gnu::always_inline]] inline Comparison compare(std::span<const float> row, float value) {
  Comparison found;
  for (const float other : row) {
    found.greater += other > value;
    found.equal += other == value;
  }
  return found;
}

// Class i belongs to lane i % 8, as in the kernel (kLanes in row_reductions_by_lane.hpp): the lanes
// must be as many, and a block a multiple of them, for the sums to be the same bits.
inline constexpr std::size_t kBlock = 64;
inline constexpr std::size_t kTermLanes = 8;
using Block = std::array<double, kBlock>;

// Short loops one by one: together they have a branch that keeps them from being vector code.
[[gnu::always_inline]] inline void fill_terms(std::span<const float> scores, double shift,
                                              OutputKind kind, Block& terms) {
  for (std::size_t i = 0; i < scores.size(); ++i) terms[i] = scores[i];
  if (kind == OutputKind::probabilities) return;
  for (std::size_t i = 0; i < scores.size(); ++i) terms[i] = std::min(0.0, terms[i] - shift);
  for (std::size_t i = 0; i < scores.size(); ++i) terms[i] = std::max(terms[i], kSmallestExponent);
  for (std::size_t i = 0; i < scores.size(); ++i) terms[i] = exp_in_range(terms[i]);
}

[[gnu::always_inline]] inline Terms sum_terms(std::span<const float> row, float peak,
                                              OutputKind kind) {
  // exp(x - peak) is at most 1, so that no logit overflows; logarithms of probabilities need no
  // shift.
  const double shift = kind == OutputKind::logits ? double{peak} : 0.0;
  Block terms;
  std::array<double, kTermLanes> sums{};
  std::array<double, kTermLanes> squares{};
  for (std::size_t first = 0; first < row.size(); first += kBlock) {
    const auto block = row.subspan(first, std::min(kBlock, row.size() - first));
    fill_terms(block, shift, kind, terms);
    // Zeros fill the last group of lanes, and adding 0 changes no sum.
    const std::size_t padded = (block.size() + kTermLanes - 1) / kTermLanes * kTermLanes;
    std::fill(terms.begin() + block.size(), terms.begin() + padded, 0.0);
    for (std::size_t i = 0; i < padded; i += kTermLanes) {
      for (std::size_t lane = 0; lane < kTermLanes; ++lane) {
        sums[lane] += terms[i + lane];
        squares[lane] += terms[i + lane] * terms[i + lane];
      }
    }
  }
  // The lanes are joined in their order, as the kernel does.
  return {std::accumulate(sums.begin(), sums.end(), 0.0),
          std::accumulate(squares.begin(), squares.end(), 0.0)};
}

}  // namespace tally::metrics::loops
