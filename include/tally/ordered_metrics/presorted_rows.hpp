// Rows of one process sorted by the bins of their scores: counted fast, with other weights each
// time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace tally::ordered_metrics
