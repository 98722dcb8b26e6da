// SPDX-License-Identifier: Apache-2.0
#include "multiclass/best_right_classes.hpp"

#include <tally/base/checked_cast.hpp>

namespace tally::tasks {
namespace {

// score_of(i, class): of the batch's sample i.
template <class ScoreOf>
std::vector<std::int64_t> best_by(const ScoredBatch& batch, const TensorView& labels,
                                  const RightClasses& right_classes, const ScoreOf& score_of) {
  std::vector<std::int64_t> best(to_size(batch.num_samples));
  for (std::int64_t i = 0; i < batch.num_samples; ++i) {
    std::int64_t& label = best[to_size(i)];
    label = labels.as<const std::int64_t>()[i];
    const auto sample = batch.indices.empty() ? batch.first_index + i : batch.indices[to_size(i)];
    const auto classes = right_classes(sample);
    if (classes.empty()) continue;
    label = classes.front();
    for (const std::int64_t other : classes.subspan(1)) {
      const auto score = score_of(i, other), best_so_far = score_of(i, label);
      const bool is_first_of_equals = score == best_so_far && other < label;
      if (score > best_so_far || is_first_of_equals) label = other;
    }
  }
  return best;
}

}  // namespace

std::vector<std::int64_t> best_right_classes(const ScoredBatch& batch, const TensorView& scores,
                                             const TensorView& labels,
                                             const RightClasses& right_classes) {
  return best_by(batch, labels, right_classes, [&](std::int64_t i, std::int64_t of_class) {
    return scores.as<const float>()[i * scores.strides[0] + of_class];
  });
}

std::vector<std::int64_t> predicted_right_classes(const ScoredBatch& batch,
                                                  std::span<const std::int32_t> predicted,
                                                  const TensorView& labels,
                                                  const RightClasses& right_classes) {
  return best_by(batch, labels, right_classes, [&](std::int64_t i, std::int64_t of_class) {
    return predicted[to_size(i)] == of_class ? 1 : 0;
  });
}

}  // namespace tally::tasks
