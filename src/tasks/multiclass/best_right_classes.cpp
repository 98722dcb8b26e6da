// SPDX-License-Identifier: Apache-2.0
#include "multiclass/best_right_classes.hpp"

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {

std::vector<std::int64_t> best_right_classes(const ScoredBatch& batch, const TensorView& scores,
                                             const TensorView& labels,
                                             const RightClasses& right_classes) {
  std::vector<std::int64_t> best(to_size(batch.num_samples));
  for (std::int64_t i = 0; i < batch.num_samples; ++i) {
    const float* const row = scores.as<const float>() + i * scores.strides[0];
    std::int64_t& label = best[to_size(i)];
    label = labels.as<const std::int64_t>()[i];
    const auto sample = batch.indices.empty() ? batch.first_index + i : batch.indices[to_size(i)];
    const auto classes = right_classes(sample);
    if (classes.empty()) continue;
    label = classes.front();
    for (const std::int64_t other : classes.subspan(1)) {
      const bool is_first_of_equals = row[other] == row[label] && other < label;
      if (row[other] > row[label] || is_first_of_equals) label = other;
    }
  }
  return best;
}

}  // namespace tally::tasks
