// SPDX-License-Identifier: Apache-2.0
// What the tasks share whose saved predictions may be classes alone, without scores
// (metrics::OutputKind::classes).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/tasks/task.hpp>

#include "column.hpp"

namespace tally::tasks {

inline bool has_scores(const TaskOptions& options) {
  return options.outputs != metrics::OutputKind::classes;
}

// Those of the task's metrics, which depend on whether there are scores.
metrics::MetricOptions metric_options(const TaskOptions& options);

// Error(usage) if --save asks for columns of scores, of which there are none.
void check_saves_no_scores(const TaskOptions& options);

// Leaves columns that can be filled without scores.
template <class Source>
void leave_out_scores(std::vector<Column<Source>>& columns) {
  constexpr std::array<std::string_view, 3> kKept{"index", "label", "prediction"};
  std::erase_if(columns, [&](const Column<Source>& column) {
    return std::ranges::find(kKept, column.spec.name) == kKept.end();
  });
}

// The only output, [rows] or [rows, labels], of one of the types of metrics::decided_classes().
// labels: how many decisions a row has, of which a single one may lack its dimension; 0: one,
// without a dimension of its own. Error(model) for others.
const TensorView& classes_in(std::span<const TensorView> outputs, std::int64_t labels);

// What a user should know: which metrics are left out, if any.
std::vector<std::string> notes_without_scores(const metrics::MetricSet& metrics);

}  // namespace tally::tasks
