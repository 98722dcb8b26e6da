// One sample as the counters see it, and how they add.
//
// Each family has a struct of counters: where in the State its counts lie, and what a row adds to
// them. They are plain data with constexpr code, so that the CPU and the kernels count alike: `add`
// is a function of (offset in the State, integer).
#pragma once

#include <cstdint>

namespace tally::metrics {

// Offset of counts that a run does not keep.
inline constexpr std::int64_t kNotKept = -1;

struct CountedRow {
  std::uint64_t index = 0;  // global sample index
  std::int64_t label = 0;   // in range unless ignored
  std::int64_t prediction = 0;
  std::int32_t label_rank = 0;  // -1 if ignored
  float loss = 0;               // NaN if ignored
  bool label_tied = false;

  constexpr bool is_scored() const { return label_rank >= 0; }
};

}  // namespace tally::metrics
