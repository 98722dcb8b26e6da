// Curves of rows that lie in one process, to be counted many times, each time with other weights:
// replicates of a bootstrap that pairs several such sets of rows. Nothing here is collective.
#pragma once

#include <memory>
#include <vector>

#include <tally/metrics/precomputed_updates.hpp>
#include <tally/ordered_metrics/curve_counts.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::ordered_metrics {

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
