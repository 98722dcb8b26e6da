// What one pass over the model's output finds for a sample whose labels are judged one by one: the
// single label of the task binary, the labels of multilabel. Plain data: kernels write it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace tally::metrics {

// Target of a label that is not scored; else 1 where it is set, 0 where not.
inline constexpr std::uint8_t kNotScored = 2;

struct MultilabelRecord {
  std::uint64_t index = 0;  // global sample index
  std::int32_t scored = 0;  // labels that are scored
  std::int32_t right = 0;   // of them predicted right; none where the scores are not finite
  bool finite = true;       // false: the scores hold NaN or an Inf that means nothing
  // Sums over the scored labels, natural logarithms; NaN where there is none or no finite score.
  double loss = std::numeric_limits<double>::quiet_NaN();   // cross entropy; finite
  double brier = std::numeric_limits<double>::quiet_NaN();  // (probability - truth)^2
  double hinge = std::numeric_limits<double>::quiet_NaN();  // NaN also unless asked for
  // Of the labels as a ranking by probability (Ranking in multilabel_examine.hpp); 0 unless asked
  // for.
  std::int64_t coverage = 0;
  double ranking_loss = 0;
  double ranking_precision = 0;

  constexpr bool is_ignored() const { return scored == 0; }
};

// A sample with its labels.
struct LabelSample {
  const MultilabelRecord& row;
  const float* probabilities = nullptr;   // [labels] that a label is set; NaN where not finite
  const std::uint8_t* targets = nullptr;  // [labels] 1, 0 or kNotScored
  std::int64_t num_labels = 0;
};

// Samples one after the other.
struct MultilabelRecords {
  std::span<const MultilabelRecord> rows;
  std::span<const float> probabilities;   // [rows, labels]
  std::span<const std::uint8_t> targets;  // [rows, labels]

  LabelSample sample(std::size_t i) const {
    const std::size_t num_labels = targets.size() / rows.size();
    return {rows[i], probabilities.data() + i * num_labels, targets.data() + i * num_labels,
            static_cast<std::int64_t>(num_labels)};
  }
};

}  // namespace tally::metrics
