// SPDX-License-Identifier: Apache-2.0
// Counts the curves of all ranks' scores, and bootstrap replicates of their metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::distributed_metrics {

// Collective. The counts of all ranks' rows, one entry a class, on every rank; the same for any
// distribution of the rows. Reads all rows twice. Every rank holds the distinct scores of all
// positives, about 50 bytes each; keys bfloat16 bound that at 0.8 MB a class. Where scores are not
// finite, every rank throws AgreedFailure(numeric) after a line that names class and sample.
std::vector<ordered_metrics::CurveCounts> count_curves(
    const comm::Communicator& comm, const ordered_metrics::ScoreRows& rows,
    ordered_metrics::ScoreKeys keys = ordered_metrics::ScoreKeys::float32);

// Values of one replicate. `compute` is a pure function of the counts of all classes and fills
// `values` (num_values entries, none at first). Its curves have the thresholds of the whole set;
// some may have no positive in a replicate.
struct ReplicateValues {
  std::int64_t num_values = 0;
  std::function<void(std::span<const ordered_metrics::CurveCounts> curves,
                     std::span<std::optional<double>> values)>
      compute;
};

struct CurveBootstrap {
  std::uint64_t seed = 0;
  std::int64_t num_replicates = 1000;
  ordered_metrics::ScoreKeys keys = ordered_metrics::ScoreKeys::float32;
  // Memory, on which no result depends. Up to here the places of all elements among the thresholds
  // are kept, 4 bytes an element and bin (twice that while they are sorted); beyond, the rows are
  // read and placed again for every batch of replicates.
  std::int64_t max_place_bytes = std::int64_t{64} << 20;
  // A batch: as many replicates as have room for their counts here, at least one.
  std::int64_t max_batch_bytes = std::int64_t{64} << 20;
};

// Collective. The values [replicate][value], on every rank; the same for any distribution of the
// rows. Sample i occurs PoissonWeights(seed, replicate).of(i) times in a replicate. The ranks share
// the computing. Options are the same on every rank. Fails as count_curves() does, and with what
// `compute` throws.
std::vector<std::vector<std::optional<double>>> bootstrap_curves(
    const comm::Communicator& comm, const ordered_metrics::ScoreRows& rows,
    const CurveBootstrap& options, const ReplicateValues& rule);

}  // namespace tally::distributed_metrics
