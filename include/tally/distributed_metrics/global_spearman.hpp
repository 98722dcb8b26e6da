// SPDX-License-Identifier: Apache-2.0
// Computes the sums of Spearman's rank correlation over the rows of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::distributed_metrics {

// Collective. One entry an output, on every rank; the same for any distribution of the rows. A rank
// holds its own values of a group of outputs, about 60 bytes more for each of its rows, and a
// window of its peers' values. A prediction that is NaN where the target counts: every rank throws
// AgreedFailure(numeric) after a line that names output and sample.
std::vector<ordered_metrics::SpearmanSums> sum_spearman(const comm::Communicator& comm,
                                                        const ordered_metrics::PairRows& rows);

// Collective. The same of bootstrap replicates, [replicate][output]: sample i occurs
// PoissonWeights(seed, replicate).of(i) times. Rows are read and sorted once; every replicate
// shares the distinct values of all ranks, 8 bytes each, once more.
std::vector<std::vector<ordered_metrics::SpearmanSums>> bootstrap_spearman(
    const comm::Communicator& comm, const ordered_metrics::PairRows& rows, std::uint64_t seed,
    std::int64_t num_replicates);

}  // namespace tally::distributed_metrics
