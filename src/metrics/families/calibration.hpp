// SPDX-License-Identifier: Apache-2.0
// Calibration: whether predictions of confidence p are right in a share p of cases.
#pragma once

#include <tally/exact/sum.hpp>

#include "family.hpp"

namespace tally::metrics {

// torch.linspace(0, 1, bins + 1)[i] in float32, as torch computes it on CPUs with fused operations
// (AVX2) and so on most machines: from both ends, each edge rounded once. In double the product is
// exact.
constexpr float bin_edge(std::int32_t i, std::int32_t bins) {
  const double step = 1.0f / static_cast<float>(bins);
  if (i < (bins + 1) / 2) return static_cast<float>(step * i);
  return static_cast<float>(1.0 - step * (bins - i));
}

// The bin [edge i, edge i + 1) of a confidence; `bins` for 1, which has a bin of its own.
constexpr std::int32_t bin_of(float confidence, std::int32_t bins) {
  if (confidence >= 1.0f) return bins;
  if (!(confidence > 0.0f)) return 0;
  auto bin = static_cast<std::int32_t>(confidence * static_cast<float>(bins));
  while (bin > 0 && bin_edge(bin, bins) > confidence) --bin;
  while (bin < bins && bin_edge(bin + 1, bins) <= confidence) ++bin;
  return bin;
}

struct CalibrationCounters {
  std::int64_t counts = kNotKept;  // [bins + 1, 2]: samples, of them right
  std::int64_t sums = kNotKept;    // [bins + 1] exact float64 sums of confidences
  std::int64_t limbs = 0;          // of one sum
  std::int32_t bins = 0;

  template <class Add>
  constexpr void count(double confidence, bool right, const Add& add) const {
    const std::int64_t bin = bin_of(static_cast<float>(confidence), bins);
    add(counts + 2 * bin, 1);
    if (right) add(counts + 2 * bin + 1, 1);
    add_to_sum(sums + bin * limbs, confidence, add);
  }

  template <class Add>
  constexpr void count_row(const MulticlassRecord& row, const Add& add) const {
    if (counts != kNotKept && row.finite) count(row.confidence, row.is_right(), add);
  }
};

FamilyEntry calibration_family();

}  // namespace tally::metrics
