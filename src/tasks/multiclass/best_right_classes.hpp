// SPDX-License-Identifier: Apache-2.0
// Chooses the label of samples for which several classes are right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/tasks/task.hpp>

namespace tally::tasks {

// On the CPU. For each sample the right class with the best score, of equal scores the one with the
// smallest number; where `right_classes` has none, or the scores are NaN, the sample's own label.
// So a prediction is right if it is among the right classes, and the first k are if one of them is,
// as in "Are we done with ImageNet?" (Beyer et al. 2020).
std::vector<std::int64_t> best_right_classes(const ScoredBatch& batch, const TensorView& scores,
                                             const TensorView& labels,
                                             const RightClasses& right_classes);

// The same where only predicted classes are known, [samples]: the predicted one where it is right,
// else the right one with the smallest number, which says no more than that the prediction is
// wrong.
std::vector<std::int64_t> predicted_right_classes(const ScoredBatch& batch,
                                                  std::span<const std::int32_t> predicted,
                                                  const TensorView& labels,
                                                  const RightClasses& right_classes);

}  // namespace tally::tasks
