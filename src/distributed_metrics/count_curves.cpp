#include <tally/distributed_metrics/count_curves.hpp>

#include <tally/comm/agree.hpp>
#include <tally/ordered_metrics/score_windows.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

#include "agree_on_bins.hpp"

namespace tally::distributed_metrics {

std::vector<ordered_metrics::CurveCounts> count_curves(const comm::Communicator& comm,
                                                       const ordered_metrics::ScoreRows& rows,
                                                       ordered_metrics::ScoreKeys keys) {
  const ordered_metrics::ThresholdBins bins = agree_on_bins(comm, rows, keys);
  std::vector<std::int64_t> counts;
  comm::agree_on(comm, [&] {
    counts.resize(to_size(bins.num_bins()));
    std::vector<std::int64_t> found;
    ordered_metrics::for_each_window(rows, keys, [&](const ordered_metrics::ScoreWindow& window) {
      found.resize(window.scores.size());
      bins.find(window, found);
      for (const std::int64_t bin : found) {
        if (bin != ordered_metrics::ThresholdBins::kNowhere)
          ++counts[static_cast<std::size_t>(bin)];
      }
    });
  });
  comm.sum_in_place(counts);
  std::vector<ordered_metrics::CurveCounts> curves;
  comm::agree_on(comm, [&] { bins.fill(counts, curves); });
  return curves;
}

}  // namespace tally::distributed_metrics
