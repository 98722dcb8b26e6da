// One rank's counts of bootstrap replicates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/exchange/curve_bootstrap.hpp>

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
  const ScoreRows& rows_;
  const CurveBootstrap& options_;
  const CurveSlots& slots_;
  bool keeps_places_ = false;
  std::vector<std::int32_t> places_;  // [rows, classes] slot of each element, or -1
};

}  // namespace tally::exchange
