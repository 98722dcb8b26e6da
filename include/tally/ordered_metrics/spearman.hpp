// SPDX-License-Identifier: Apache-2.0
// Defines the rows and sums of Spearman's rank correlation between predictions and targets, and
// computes the correlation from the sums, and the sums of rows that lie in one process. Nothing
// here is collective.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tally/metrics/precomputed_updates.hpp>
#include <tally/ordered_metrics/global_ranks.hpp>

namespace tally::ordered_metrics {

// One rank's rows of a regression, in the order of the data set.
struct PairRows {
  std::int64_t num_rows = 0;
  std::int64_t num_outputs = 0;  // the same on every rank
  std::int64_t first_index = 0;  // global sample index of this rank's first row
  // Fills rows first .. first + count - 1, counted from this rank's first; both spans are
  // [count, num_outputs] float32. An element whose target is NaN does not count.
  std::function<void(std::int64_t first, std::int64_t count, std::span<float> predictions,
                     std::span<float> targets)>
      read;
  // As many outputs at a time are held as have room here, two floats an element, at least one; the
  // rows are read once for each such group. The same on every rank; no result depends on it.
  std::int64_t max_group_bytes = std::int64_t{64} << 20;
};

// Sums over the counted elements of one output. With average ranks r (ties share the mean of their
// places) of N elements, c = 2r - (N + 1) = (elements below) - (elements above) is an integer of
// mean 0. Each sum is sum(limb[i] * 2^(32 i)); limbs 0 and 1 lie in [0, 2^32).
struct SpearmanSums {
  using Limbs = std::array<std::int64_t, 3>;
  std::int64_t count = 0;  // N
  Limbs predictions{};     // sum of c^2 of the predictions
  Limbs targets{};         // sum of c^2 of the targets
  Limbs products{};        // sum of the products of both
  bool operator==(const SpearmanSums&) const = default;
};

// sum(cx cy) / sqrt(sum(cx^2) sum(cy^2)), in [-1, 1]. None where either side has no variance.
std::optional<double> spearman(const SpearmanSums& sums);
// The mean over outputs, at least one; none if one of them has none.
std::optional<double> mean_spearman(std::span<const SpearmanSums> outputs);

// What counts of one output, on this rank.
struct PairValues {
  std::vector<float> predictions;
  std::vector<float> targets;
  std::vector<std::int64_t> index;  // global sample indices
};

// Not collective. Outputs first .. first + count - 1 of all rows of this rank, read in windows.
// Error(numeric) names the first prediction that is NaN where the target counts.
std::vector<PairValues> read_outputs(const PairRows& rows, std::int64_t first, std::int64_t count);

// Centred ranks of one output's predictions and targets, one weight for each; canonical.
SpearmanSums spearman_partials(const Weights& weights, std::span<const std::int64_t> predictions,
                               std::span<const std::int64_t> targets);

// Rank correlation of rows that lie in one process, to be computed many times, each time with other
// weights: replicates of a bootstrap that pairs several such sets of rows. Nothing here is
// collective.
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
