// SPDX-License-Identifier: Apache-2.0
// The columns of predictions.h5 that a classification can fill.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/sample_records.hpp>
#include <tally/tasks/task.hpp>

#include "column.hpp"

namespace tally::tasks {

// What a column is made of: the batch's scores and rows.
struct ClassSource {
  const TensorView& scores;  // [rows, classes] float32
  metrics::OutputKind outputs;
  std::span<const metrics::MulticlassRecord> rows;
};
using ClassColumn = Column<ClassSource>;

// The columns of the groups asked for, in order of name; without scores those that need none.
std::vector<ClassColumn> class_columns(const std::vector<SaveColumns>& groups,
                                       std::int64_t num_classes, bool has_scores);

// What it takes to count samples again: the rows themselves as bytes; where it takes their order,
// the probability of each class too.
std::vector<ClassColumn> retained_class_columns(std::int64_t num_classes, bool with_scores);

}  // namespace tally::tasks
