// SPDX-License-Identifier: Apache-2.0
// Differences of metrics between two runs, with intervals from resampling the samples they share.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/compare/comparison.hpp>

#include "paired_samples.hpp"

namespace tally::compare {

// One entry per metric of `samples`, in report order. Replicate r weighs sample i of both runs by
// metrics::PoissonWeights(seed, r).of(i); the interval is that of the percentiles of the
// replicates' differences. none where a value is undefined, or the difference in more than a
// twentieth of the replicates.
std::vector<MetricDifference> paired_differences(const PairedSamples& samples,
                                                 std::int64_t replicates, std::int64_t seed);

}  // namespace tally::compare
