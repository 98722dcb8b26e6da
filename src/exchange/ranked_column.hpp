// The values of one column on this rank, and how many of all ranks' values lie below and above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::exchange {

// How often each value counts: bootstrap weights, or 1.
using Weights = std::vector<std::int64_t>;

class RankedColumn {
 public:
  // Finite or infinite values, at most 2^31.
  explicit RankedColumn(std::span<const float> values);

  // Collective. For each value, in the order given, the weight of all ranks' values below it minus
  // that of those above; `weights` has one entry a value. Weights of one value on one rank sum to
  // less than 2^32.
  std::vector<std::int64_t> centred_ranks(const comm::Communicator& comm,
                                          const Weights& weights) const;
  // Not collective. The same among this rank's values alone.
  std::vector<std::int64_t> centred_ranks(const Weights& weights) const;

 private:
  std::vector<std::byte> weighted_values(const Weights& weights) const;
  // What belongs to the distinct values, for each value.
  std::vector<std::int64_t> spread(const std::vector<std::int64_t>& of_distinct) const;

  std::vector<float> distinct_;      // ascending
  std::vector<std::int32_t> place_;  // of each value in distinct_
};

}  // namespace tally::exchange
