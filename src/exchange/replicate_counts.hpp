// One rank's counts of bootstrap replicates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/exchange/curve_bootstrap.hpp>
#include <tally/metrics/poisson_weight.hpp>

#include "curve_slots.hpp"

namespace tally::exchange {

class ReplicateCounts {
 public:
  // Reads the rows once if their places are kept. All arguments outlive this object.
  ReplicateCounts(const ScoreRows& rows, const CurveBootstrap& options, const CurveSlots& slots);

  // Counts of replicates first, first + 1, …, as many as `counts` has room for, one after the
  // other. Reads the rows once more if their places are not kept.
  void count(std::int64_t first_replicate, std::span<std::int64_t> counts) const;

 private:
  void keep_places();
  void count_kept(std::int64_t replicate, std::span<std::int64_t> counts) const;
  void count_read(std::int64_t first_replicate, std::span<std::int64_t> counts) const;
  metrics::PoissonWeights weights_of(std::int64_t replicate) const {
    return {options_.seed, static_cast<std::uint64_t>(replicate)};
  }

  const ScoreRows& rows_;
  const CurveBootstrap& options_;
  const CurveSlots& slots_;
  bool keeps_places_ = false;
  // The rows in slot s are rows_by_slot_[first_in_slot_[s]] up to those of slot s + 1: so counts
  // are written in order, and what is read out of order, a byte a row, stays in the caches.
  std::vector<std::int32_t> first_in_slot_;
  std::vector<std::int32_t> rows_by_slot_;
};

}  // namespace tally::exchange
