// The columns of predictions.h5 that a classification can fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/row_facts.hpp>
#include <tally/predictions/columns.hpp>
#include <tally/tasks/task.hpp>

namespace tally::tasks {

// What a column is made of: the batch's scores, labels and facts; `num_samples` rows.
struct ColumnSource {
  std::int64_t first_index = 0;
  std::span<const std::int64_t> labels;
  const TensorView& scores;  // [rows, classes] float32
  metrics::OutputKind outputs;
  const metrics::RowFacts& facts;
};

struct Column {
  predictions::ColumnSpec spec;
  // Fills `out`, which has room for labels.size() rows.
  void (*fill)(const ColumnSource& source, const Shape& row_shape, std::span<std::byte> out);
};

// The columns of the groups asked for, in order of name.
std::vector<Column> classification_columns(const std::vector<SaveColumns>& groups,
                                           std::int64_t num_classes);

}  // namespace tally::tasks
