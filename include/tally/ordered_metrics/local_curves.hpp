// SPDX-License-Identifier: Apache-2.0
// Counts the curves of rows that lie in one process many times, each time with other weights: the
// rows are sorted by the bins of their scores once. Nothing here is collective.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tally/metrics/precomputed_updates.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

namespace tally::ordered_metrics {

class PresortedRows {
 public:
  static constexpr std::int64_t kPlaceBytes = sizeof(std::int32_t);  // of an element, and of a bin
  // Elements and bins together.
  static std::int64_t num_places(const ScoreRows& rows, const ThresholdBins& bins);

  // Reads the rows once. Holds twice the places while it sorts. Error(internal) for 2^31 places.
  PresortedRows(const ScoreRows& rows, ScoreKeys keys, const ThresholdBins& bins);

  // The sum of weights in each bin: one weight a row, one count a bin.
  void count(std::span<const std::uint8_t> weight_of_row, std::span<std::int64_t> counts) const;

 private:
  // The rows in bin s are rows_by_bin_[first_in_bin_[s]] up to those of bin s + 1: so counts
  // are written in order, and what is read out of order, a byte a row, stays in the caches.
  std::vector<std::int32_t> first_in_bin_;
  std::vector<std::int32_t> rows_by_bin_;
};

// Curves of rows that lie in one process, to be counted many times, each time with other weights:
// replicates of a bootstrap that pairs several such sets of rows. Nothing here is collective.
class LocalCurves {
 public:
  // Reads the rows twice and keeps 4 bytes of each element (while they are sorted, 8). first_index
  // is for messages. Error(numeric) names a counted score that is not finite; Error(internal): 2^31
  // elements.
  LocalCurves(const ScoreRows& rows, ScoreKeys keys);
  ~LocalCurves();
  LocalCurves(LocalCurves&&) noexcept;

  // One weight a row, no weights: each counts once. Fills `curves`, whose room it reuses, one entry
  // a class: what count_curves() finds where each row is there so often, but with the thresholds of
  // all rows.
  void count(metrics::RowWeights weights, std::vector<CurveCounts>& curves) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::ordered_metrics
