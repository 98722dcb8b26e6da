// What one pass over the model's output finds for a sample with one class label; every metric and
// record column of a classification is made of it. Plain data: kernels write it.
#pragma once

#include <cstdint>

namespace tally::metrics {

struct MulticlassRecord {
  std::uint64_t index = 0;      // global sample index
  std::int64_t label = 0;       // in range unless ignored
  std::int64_t prediction = 0;  // argmax; ties: the smallest class index; -1: none
  // Classes ahead of the true one, -1 if there is no such rank (ignored, or not finite):
  std::int32_t label_rank = -1;  // #(greater) + #(equal with a smaller index)
  std::int32_t best_rank = -1;   // #(greater): ties in the label's favour
  std::int32_t worst_rank = -1;  // #(greater) + #(other equal ones): ties against it
  bool ignored = false;          // its label is not scored
  bool finite = true;            // false: the scores hold NaN or an Inf that means nothing
  // Natural logarithms; NaN where a row is ignored or not finite.
  double loss = 0;        // cross entropy, with weights and smoothing if asked for; finite
  double confidence = 0;  // probability of the prediction; NaN only where not finite
  double brier = 0;       // sum over classes of (probability - truth)^2
  double hinge = 0;       // max(0, 1 - margin); NaN unless asked for

  constexpr bool is_tied() const { return best_rank != worst_rank; }
  constexpr bool is_right() const { return label_rank == 0; }
};

}  // namespace tally::metrics
