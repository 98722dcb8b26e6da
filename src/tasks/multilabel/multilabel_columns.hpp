// SPDX-License-Identifier: Apache-2.0
// The columns of predictions.h5 that the tasks binary and multilabel can fill.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/task.hpp>

#include "column.hpp"

namespace tally::tasks {

// What a column is made of: the batch's scores and labels.
struct LabelSource {
  const TensorView& scores;  // the model's output; looked at for logits only
  metrics::MultilabelRecords rows;
  std::int64_t ignore_index = 0;  // what stands for a label that is not scored
  float threshold = 0.5f;
};
using LabelColumn = Column<LabelSource>;

// The columns of the groups asked for, in order of name.
std::vector<LabelColumn> binary_columns(const std::vector<SaveColumns>& groups);
std::vector<LabelColumn> multilabel_columns(const std::vector<SaveColumns>& groups,
                                            std::int64_t num_labels);

// What it takes to count samples again: the rows themselves as bytes, the probability of each label
// and its target; in this order.
std::vector<LabelColumn> retained_label_columns(std::int64_t num_labels);
// The samples in columns of retained_label_columns().
metrics::MultilabelRecords retained_records(const predictions::RecordBatch& retained);

}  // namespace tally::tasks
