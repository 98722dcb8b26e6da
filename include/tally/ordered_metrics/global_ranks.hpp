// SPDX-License-Identifier: Apache-2.0
// Holds the values of one column, and counts how many values lie below and above each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::ordered_metrics {

// How often each value counts: bootstrap weights, or 1.
using Weights = std::vector<std::int64_t>;

// A value and how often it counts.
struct WeightedValue {
  float value;
  std::uint32_t weight;
};
static_assert(sizeof(WeightedValue) == 8);

// Adds up the weights below and at distinct values.
class WeightsBelow {
 public:
  // `distinct`: ascending; it outlives this object.
  explicit WeightsBelow(std::span<const float> distinct);
  // WeightedValue of one rank, or some of them, ascending.
  void add(std::span<const std::byte> values);
  // The weight below minus the weight above, of each distinct value. Error(internal) for more than
  // 2^41 elements.
  std::vector<std::int64_t> centred() const;

 private:
  std::span<const float> distinct_;
  std::vector<std::int64_t> before_;  // entry i: between distinct values i - 1 and i
  std::vector<std::int64_t> at_;
};

class RankedColumn {
 public:
  // Finite or infinite values, at most 2^31.
  explicit RankedColumn(std::span<const float> values);

  // For each value, in the order given, the weight of the values below it minus that of those
  // above, among this rank's values alone; `weights` has one entry a value. Weights of one value
  // sum to less than 2^32.
  std::vector<std::int64_t> centred_ranks(const Weights& weights) const;

  // The same in two steps, between which other ranks' values may be added.
  const std::vector<float>& distinct() const { return distinct_; }
  std::vector<WeightedValue> weighted_values(const Weights& weights) const;
  // What belongs to the distinct values, for each value.
  std::vector<std::int64_t> spread(const std::vector<std::int64_t>& of_distinct) const;

 private:
  std::vector<float> distinct_;      // ascending
  std::vector<std::int32_t> place_;  // of each value in distinct_
};

}  // namespace tally::ordered_metrics
