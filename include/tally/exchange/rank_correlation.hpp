// Spearman's rank correlation between predictions and targets, over the rows of all ranks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::exchange {

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
struct RankSums {
  using Limbs = std::array<std::int64_t, 3>;
  std::int64_t count = 0;  // N
  Limbs predictions{};     // sum of c^2 of the predictions
  Limbs targets{};         // sum of c^2 of the targets
  Limbs products{};        // sum of the products of both
  bool operator==(const RankSums&) const = default;
};

// Collective. One entry an output, on every rank; the same for any distribution of the rows. A rank
// holds its own values of a group of outputs, about 60 bytes more for each of its rows, and a
// window of its peers' values. A prediction that is NaN where the target counts: every rank throws
// AgreedFailure(numeric) after a line that names output and sample.
std::vector<RankSums> sum_ranks(const comm::Communicator& comm, const PairRows& rows);

// Collective. The same of bootstrap replicates, [replicate][output]: sample i occurs
// PoissonWeights(seed, replicate).of(i) times. Rows are read and sorted once; every replicate
// shares the distinct values of all ranks, 8 bytes each, once more.
std::vector<std::vector<RankSums>> bootstrap_ranks(const comm::Communicator& comm,
                                                   const PairRows& rows, std::uint64_t seed,
                                                   std::int64_t num_replicates);

// sum(cx cy) / sqrt(sum(cx^2) sum(cy^2)), in [-1, 1]; pure. None where either side has no variance.
std::optional<double> spearman(const RankSums& sums);
// The mean over outputs, at least one; none if one of them has none.
std::optional<double> mean_spearman(std::span<const RankSums> outputs);

}  // namespace tally::exchange
