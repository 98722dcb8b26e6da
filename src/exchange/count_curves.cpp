#include <tally/comm/agree.hpp>
#include <tally/exchange/curve_counts.hpp>

#include "curve_slots.hpp"
#include "score_windows.hpp"

namespace tally::exchange {

std::vector<CurveCounts> count_curves(const comm::Communicator& comm, const ScoreRows& rows,
                                      ScoreKeys keys) {
  const CurveSlots slots = agree_on_slots(comm, rows, keys);
  std::vector<std::int64_t> counts;
  comm::agree_on(comm, [&] {
    counts.resize(to_size(slots.num_slots()));
    std::vector<std::int64_t> found;
    for_each_window(rows, keys, [&](const ScoreWindow& window) {
      found.resize(window.scores.size());
      slots.find(window, found);
      for (const std::int64_t slot : found) {
        if (slot != CurveSlots::kNowhere) ++counts[static_cast<std::size_t>(slot)];
      }
    });
  });
  comm.sum_in_place(counts);
  std::vector<CurveCounts> curves;
  comm::agree_on(comm, [&] { slots.fill(counts, curves); });
  return curves;
}

}  // namespace tally::exchange
