// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/digest_encoding.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace tally::ordered_metrics {
namespace {

static_assert(std::endian::native == std::endian::little, "pass_digest_bytes() would have to swap");

template <class T>
void pass(std::span<const T> values, const ByteSink& sink) {
  sink(std::as_bytes(values));
}

void pass(std::int64_t value, const ByteSink& sink) {
  pass(std::span<const std::int64_t>(&value, 1), sink);
}

}  // namespace

void pass_digest_bytes(std::span<const CurveCounts> curves, const ByteSink& sink) {
  pass(std::ssize(curves), sink);
  for (const CurveCounts& curve : curves) {
    pass(curve.positives, sink);
    pass(curve.negatives, sink);
    pass(std::ssize(curve.thresholds), sink);
    pass<float>(curve.thresholds, sink);
    for (const auto* counts : {&curve.positives_at, &curve.negatives_at, &curve.negatives_above}) {
      pass<std::int64_t>(*counts, sink);
    }
  }
}

void pass_digest_bytes(std::span<const SpearmanSums> sums, const ByteSink& sink) {
  pass(std::ssize(sums), sink);
  for (const SpearmanSums& output : sums) {
    pass(output.count, sink);
    for (const auto* limbs : {&output.predictions, &output.targets, &output.products}) {
      pass<std::int64_t>(*limbs, sink);
    }
  }
}

}  // namespace tally::ordered_metrics
