// SPDX-License-Identifier: Apache-2.0
#include <tally/distributed_metrics/global_spearman.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/windowed_gather.hpp>
#include <tally/exact/sum.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/ordered_metrics/global_ranks.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::distributed_metrics {

// Spearman ranks are the places of a column's values among those of all ranks of the job.

namespace {

using ordered_metrics::WeightedValue;

constexpr std::int64_t kGatheredBytes = std::int64_t{64}
                                        << 20;  // at a time, from all ranks together

// Collective. Returns for each value of the column, in the order given, the weight of all ranks'
// values below it minus that of those above; `weights` has one entry a value. The weights of one
// value on one rank sum to less than 2^32, so they are sent as 32 bits.
std::vector<std::int64_t> global_ranks(const comm::Communicator& comm,
                                       const ordered_metrics::RankedColumn& column,
                                       const ordered_metrics::Weights& weights) {
  std::vector<WeightedValue> local;
  std::optional<ordered_metrics::WeightsBelow> below;
  comm::agree_on(comm, [&] {
    local = column.weighted_values(weights);
    below.emplace(column.distinct());
  });
  comm::windowed_all_gather(
      comm, std::as_bytes(std::span(local)), sizeof(WeightedValue), kGatheredBytes,
      [&](std::int64_t, std::span<const std::byte> values) { below->add(values); });
  std::vector<std::int64_t> ranks;
  comm::agree_on(comm, [&] { ranks = column.spread(below->centred()); });
  return ranks;
}

using metrics::PoissonWeights;

// Returns one replicate's weights of an output's values; without a replicate each counts once.
ordered_metrics::Weights weights_of(const ordered_metrics::PairValues& values,
                                    const PoissonWeights* replicate) {
  ordered_metrics::Weights weights(values.index.size(), 1);
  if (replicate == nullptr) return weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = replicate->of(static_cast<std::uint64_t>(values.index[i]));
  }
  return weights;
}

// Collective. Returns this rank's share of the sums of one output, one entry for each of
// `replicates`.
std::vector<ordered_metrics::SpearmanSums> shares_of_output(
    const comm::Communicator& comm, const ordered_metrics::PairValues& values,
    std::span<const PoissonWeights* const> replicates) {
  std::optional<ordered_metrics::RankedColumn> predictions;
  std::optional<ordered_metrics::RankedColumn> targets;
  // The columns are sorted once for all replicates.
  comm::agree_on(comm, [&] {
    predictions.emplace(values.predictions);
    targets.emplace(values.targets);
  });
  std::vector<ordered_metrics::SpearmanSums> shares;
  for (const PoissonWeights* replicate : replicates) {
    ordered_metrics::Weights weights;
    comm::agree_on(comm, [&] { weights = weights_of(values, replicate); });
    const auto ranked_predictions = global_ranks(comm, *predictions, weights);
    const auto ranked_targets = global_ranks(comm, *targets, weights);
    shares.push_back(
        ordered_metrics::spearman_partials(weights, ranked_predictions, ranked_targets));
  }
  return shares;
}

// Collective. Turns the shares into the sums over all ranks, in canonical form; one call of MPI for
// all outputs.
void add_up(const comm::Communicator& comm, std::vector<ordered_metrics::SpearmanSums>& sums) {
  std::vector<std::int64_t> flat;
  for (const ordered_metrics::SpearmanSums& sum : sums) {
    flat.push_back(sum.count);
    for (const auto* limbs : {&sum.predictions, &sum.targets, &sum.products}) {
      flat.insert(flat.end(), limbs->begin(), limbs->end());
    }
  }
  comm.sum_in_place(flat);
  auto next = flat.begin();
  for (ordered_metrics::SpearmanSums& sum : sums) {
    sum.count = *next++;
    for (auto* limbs : {&sum.predictions, &sum.targets, &sum.products}) {
      std::copy_n(next, limbs->size(), limbs->begin());
      exact::carry(limbs->data(), std::ssize(*limbs));
      next += std::ssize(*limbs);
    }
  }
}

// Collective. [replicate][output]
std::vector<std::vector<ordered_metrics::SpearmanSums>> sums_of(
    const comm::Communicator& comm, const ordered_metrics::PairRows& rows,
    std::span<const PoissonWeights* const> replicates) {
  comm::agree_same(comm, ErrorKind::internal, "the number of outputs of a rank correlation",
                   format("{}", rows.num_outputs));
  constexpr auto kPairBytes = std::int64_t{2 * sizeof(float)};
  // The largest number of rows counts, so that all ranks form the same groups: each output of a
  // group takes part in collectives.
  const std::int64_t most_rows = std::max<std::int64_t>(1, comm.max(rows.num_rows));
  const auto group = std::max<std::int64_t>(1, rows.max_group_bytes / (kPairBytes * most_rows));
  std::vector<std::vector<ordered_metrics::SpearmanSums>> sums(replicates.size());
  for (std::int64_t first = 0; first < rows.num_outputs; first += group) {
    const std::int64_t count = std::min(group, rows.num_outputs - first);
    std::vector<ordered_metrics::PairValues> outputs;
    comm::agree_on(comm, [&] { outputs = ordered_metrics::read_outputs(rows, first, count); });
    for (const ordered_metrics::PairValues& values : outputs) {
      const auto shares = shares_of_output(comm, values, replicates);
      for (std::size_t r = 0; r < shares.size(); ++r) sums[r].push_back(shares[r]);
    }
  }
  for (auto& of_replicate : sums) add_up(comm, of_replicate);
  return sums;
}

}  // namespace

std::vector<ordered_metrics::SpearmanSums> sum_spearman(const comm::Communicator& comm,
                                                        const ordered_metrics::PairRows& rows) {
  const PoissonWeights* const once = nullptr;
  return sums_of(comm, rows, std::span(&once, 1)).front();
}

std::vector<std::vector<ordered_metrics::SpearmanSums>> bootstrap_spearman(
    const comm::Communicator& comm, const ordered_metrics::PairRows& rows, std::uint64_t seed,
    std::int64_t num_replicates) {
  std::vector<PoissonWeights> weights;
  std::vector<const PoissonWeights*> replicates;
  weights.reserve(to_size(num_replicates));
  for (std::int64_t r = 0; r < num_replicates; ++r) {
    replicates.push_back(&weights.emplace_back(seed, static_cast<std::uint64_t>(r)));
  }
  return sums_of(comm, rows, replicates);
}

}  // namespace tally::distributed_metrics
