// SPDX-License-Identifier: Apache-2.0
// Writes curves and rank sums as bytes, for digests: equal results are equal bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <tally/ordered_metrics/curve_counts_and_points.hpp>
#include <tally/ordered_metrics/spearman.hpp>

namespace tally::ordered_metrics {

// Takes consecutive pieces, as digest::Sha256::update() does.
using ByteSink = std::function<void(std::span<const std::byte> bytes)>;

// Little-endian. Number of classes; for each class its positives, negatives and number of
// thresholds (int64), the thresholds (float32), positives_at, negatives_at, negatives_above
// (int64).
void pass_digest_bytes(std::span<const CurveCounts> curves, const ByteSink& sink);

// Number of outputs; for each output count, predictions, targets, products: int64, little-endian.
void pass_digest_bytes(std::span<const SpearmanSums> sums, const ByteSink& sink);

}  // namespace tally::ordered_metrics
