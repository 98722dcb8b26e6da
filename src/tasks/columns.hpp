// The columns of predictions.h5 that a classification can fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/class_row.hpp>
#include <tally/metrics/output_kind.hpp>
#include <tally/predictions/columns.hpp>
#include <tally/tasks/task.hpp>

namespace tally::tasks {

// What a column is made of: the batch's scores and rows.
struct ColumnSource {
  const TensorView& scores;  // [rows, classes] float32
  metrics::OutputKind outputs;
  std::span<const metrics::ClassRow> rows;
};

struct Column {
  predictions::ColumnSpec spec;
  // Fills `out`, which has room for rows.size() rows.
  void (*fill)(const ColumnSource& source, const Shape& row_shape, std::span<std::byte> out);
};

// The columns of the groups asked for, in order of name.
std::vector<Column> classification_columns(const std::vector<SaveColumns>& groups,
                                           std::int64_t num_classes);

// The rows themselves, [rows, sizeof(ClassRow)] bytes.
void fill_row(const ColumnSource& source, const Shape& row_shape, std::span<std::byte> out);

// The probabilities of all classes; NaN where the scores are not finite.
void fill_probabilities(const ColumnSource& source, const Shape& row_shape,
                        std::span<std::byte> out);

}  // namespace tally::tasks
