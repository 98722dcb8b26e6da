// All counts of all curves as one vector: each element of the scores belongs to one slot of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/exchange/curve_counts.hpp>
#include <tally/exchange/score_rows.hpp>

namespace tally::exchange {

// A class with thresholds t_0 > t_1 > … has, for each of them, the slots of negatives above it (and
// below the one before), negatives at it and positives at it; at the end one slot of negatives
// below all.
class CurveSlots {
 public:
  // `keys`: score_key() of every threshold, sorted, each once.
  CurveSlots(std::span<const std::uint64_t> keys, std::int64_t num_classes);

  std::int64_t num_slots() const;
  // `score`: one of a window's; of a positive it is one of the thresholds.
  std::int64_t slot_of(std::size_t c, float score, bool is_positive) const {
    const auto begin = thresholds_.begin() + first_[c];
    const auto end = thresholds_.begin() + first_[c + 1];
    const auto found = std::lower_bound(begin, end, score, std::greater<>());
    const std::int64_t at = found != end && *found == score ? 1 : 0;
    return 3 * (found - begin) + (is_positive ? 2 : at) + first_slot(c);
  }
  // The curves that the counts of all slots stand for; reuses the room of `curves`.
  void fill(std::span<const std::int64_t> counts, std::vector<CurveCounts>& curves) const;

 private:
  std::int64_t first_slot(std::size_t c) const {
    return 3 * first_[c] + static_cast<std::int64_t>(c);
  }

  std::vector<float> thresholds_;    // of all classes
  std::vector<std::int64_t> first_;  // [classes + 1]: where a class begins in thresholds_
};

// Collective. The slots of all ranks' positives. Fails as count_curves() does.
CurveSlots agree_on_slots(const comm::Communicator& comm, const ScoreRows& rows, ScoreKeys keys);

}  // namespace tally::exchange
