// Rank correlation of rows that lie in one process, to be computed many times, each time with other
// weights: replicates of a bootstrap that pairs several such sets of rows. Nothing here is
// collective.
#pragma once

#include <memory>
#include <vector>

#include <tally/metrics/precomputed_updates.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::ordered_metrics {

class LocalSpearman {
 public:
  // Reads the rows once and keeps about 30 bytes of each element. first_index is for messages.
  // Error(numeric) names a prediction that is NaN where the target counts.
  explicit LocalSpearman(const PairRows& rows);
  ~LocalSpearman();
  LocalSpearman(LocalSpearman&&) noexcept;

  // One weight a row, no weights: each counts once. One entry an output: what sum_spearman() finds
  // where each row is there so often.
  std::vector<SpearmanSums> sum(metrics::RowWeights weights) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::ordered_metrics
