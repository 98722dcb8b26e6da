// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/multiclass_statistics.hpp>

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "passes/compute_row_statistics.hpp"
#include "passes/row_reductions.hpp"
#include "passes/row_reductions_by_lane.hpp"

namespace tally::metrics {
namespace {

using Row = std::span<const float>;

// The number of classes is bounded since label ranks are int32.
void check_form(const TensorView& scores, std::size_t num_labels) {
  const bool good = scores.dtype == DType::f32 && scores.device == DeviceKind::cpu &&
                    scores.shape.size() == 2 && scores.strides.size() == 2 &&
                    to_size(scores.shape[0]) >= num_labels && scores.shape[1] >= 1 &&
                    scores.shape[1] <= std::numeric_limits<std::int32_t>::max() &&
                    (scores.strides[1] == 1 || scores.shape[1] == 1);
  if (good) return;
  throw Error(ErrorKind::internal,
              format("scores are {} {} on {} for {} labels, expected float32 [rows, classes] on "
                     "the CPU",
                     name(scores.dtype), to_string(scores.shape), name(scores.device), num_labels));
}

}  // namespace

void compute_multiclass_statistics(const TensorView& scores, std::int64_t first_index,
                                   std::span<const std::int64_t> labels, const ScoreRules& rules,
                                   RowStatistics& stats) {
  check_form(scores, labels.size());
  stats.rows.resize(labels.size());
  stats.wrong_kind_row.reset();
  const std::size_t num_classes = to_size(scores.shape[1]);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Row row(scores.as<const float>() + static_cast<std::int64_t>(i) * scores.strides[0],
                  num_classes);
    MulticlassRecord& made = stats.rows[i];
    made = {};
    made.index = static_cast<std::uint64_t>(first_index) + i;
    made.label = labels[i];
    // The run ends at such a row, so the others need not be looked at.
    if (!compute_row_statistics(row, rules, made)) {
      stats.wrong_kind_row = checked_cast<std::int64_t>(i);
      return;
    }
  }
}

void class_probabilities(std::span<const float> row, OutputKind kind,
                         std::span<float> probabilities) {
  if (kind == OutputKind::probabilities) {
    std::copy(row.begin(), row.end(), probabilities.begin());
    return;
  }
  const float peak = largest(row);
  const Terms terms = sum_terms(row, peak, kind);
  for (std::size_t i = 0; i < row.size(); ++i) {
    probabilities[i] = static_cast<float>(probability_of(row[i], peak, terms, kind));
  }
}

}  // namespace tally::metrics
