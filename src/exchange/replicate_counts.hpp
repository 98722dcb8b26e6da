// One rank's counts of bootstrap replicates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <tally/exchange/curve_bootstrap.hpp>
#include <tally/metrics/poisson_weight.hpp>

#include "curve_slots.hpp"
#include "placed_rows.hpp"

namespace tally::exchange {

class ReplicateCounts {
 public:
  // Reads the rows once if their places are kept. All arguments outlive this object.
  ReplicateCounts(const ScoreRows& rows, const CurveBootstrap& options, const CurveSlots& slots);

  // Counts of replicates first, first + 1, …, as many as `counts` has room for, one after the
  // other. Reads the rows once more if their places are not kept.
  void count(std::int64_t first_replicate, std::span<std::int64_t> counts) const;

 private:
  void count_kept(std::int64_t replicate, std::span<std::int64_t> counts) const;
  void count_read(std::int64_t first_replicate, std::span<std::int64_t> counts) const;
  metrics::PoissonWeights weights_of(std::int64_t replicate) const {
    return {options_.seed, static_cast<std::uint64_t>(replicate)};
  }

  const ScoreRows& rows_;
  const CurveBootstrap& options_;
  const CurveSlots& slots_;
  std::optional<PlacedRows> placed_;  // if places are kept
};

}  // namespace tally::exchange
