// The thresholds of all ranks' positives.
#pragma once

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

namespace tally::distributed_metrics {

// Collective. The bins of all ranks' positives. Fails as count_curves() does.
ordered_metrics::ThresholdBins agree_on_bins(const comm::Communicator& comm,
                                             const ordered_metrics::ScoreRows& rows,
                                             ordered_metrics::ScoreKeys keys);

}  // namespace tally::distributed_metrics
