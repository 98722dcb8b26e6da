// SPDX-License-Identifier: Apache-2.0
// One rank's counts of bootstrap replicates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <tally/distributed_metrics/global_curves_and_bootstrap.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/ordered_metrics/local_curves.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

namespace tally::distributed_metrics {

class ReplicateCounts {
 public:
  // Reads the rows once if their places are kept. All arguments outlive this object.
  ReplicateCounts(const ordered_metrics::ScoreRows& rows, const CurveBootstrap& options,
                  const ordered_metrics::ThresholdBins& bins);

  // Counts of replicates first, first + 1, …, as many as `counts` has room for, one after the
  // other. Reads the rows once more if their places are not kept.
  void count(std::int64_t first_replicate, std::span<std::int64_t> counts) const;

 private:
  void count_kept(std::int64_t replicate, std::span<std::int64_t> counts) const;
  void count_read(std::int64_t first_replicate, std::span<std::int64_t> counts) const;
  metrics::PoissonWeights weights_of(std::int64_t replicate) const {
    return {options_.seed, static_cast<std::uint64_t>(replicate)};
  }

  const ordered_metrics::ScoreRows& rows_;
  const CurveBootstrap& options_;
  const ordered_metrics::ThresholdBins& bins_;
  std::optional<ordered_metrics::PresortedRows> placed_;  // if places are kept
};

}  // namespace tally::distributed_metrics
