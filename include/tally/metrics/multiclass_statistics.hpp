// SPDX-License-Identifier: Apache-2.0
// Computes, in one pass over the scores, the statistics of samples that have one class label each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// On what the margin of the hinge loss is measured.
enum class HingeOn { nothing, probabilities, scores };

// How scores are read and judged; the same for all rows. Plain data: kernels are given it.
struct ScoreRules {
  OutputKind kind = OutputKind::logits;
  bool has_ignore_index = false;
  std::int64_t ignore_index = 0;
  HingeOn hinge = HingeOn::nothing;
  double label_smoothing = 0;             // in [0, 1)
  const double* class_weights = nullptr;  // [classes], where the scores are; null: all 1
};

struct RowStatistics {
  std::vector<MulticlassRecord> rows;
  // The first row that is not of the given kind (a probability outside [0, 1], a log-probability
  // above 0): the model returns something else. The rows are void then.
  std::optional<std::int64_t> wrong_kind_row;
};

// What a class costs at probability 0 (or a score of -Inf), where cross entropy is infinite: as
// much as at the smallest positive float32, 149 ln 2.
inline constexpr double kZeroProbabilityLoss = 103.27892990343184;

// scores: [rows >= labels.size(), classes] float32 on the CPU, unit stride along classes.
// first_index: global index of the first row. Labels must be in range (the reader has checked
// them); else, or for scores of another form, Error(internal).
void compute_multiclass_statistics(const TensorView& scores, std::int64_t first_index,
                                   std::span<const std::int64_t> labels, const ScoreRules& rules,
                                   RowStatistics& stats);

// The probabilities of one row's classes: its softmax, its exponential, or the row as it is.
void class_probabilities(std::span<const float> row, OutputKind kind,
                         std::span<float> probabilities);

}  // namespace tally::metrics
