// SPDX-License-Identifier: Apache-2.0
// What is known of samples of which only the predicted classes are saved, and no scores: the same
// records as those of scores, without what scores alone tell. On the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/metrics/multilabel_pass.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// Whether classes may be stored as this type: uint8, int16, int32, int64.
bool are_decided_classes(DType dtype);

// The predicted classes of the first rows of `classes`, contiguous integers [>= num_rows] or
// [>= num_rows, labels]; -1 where none is predicted, which is stored as -1 too, in uint8 as 255 if
// that is no class. Error(model) names the sample and the value that is neither. first_index: of
// the first row.
std::vector<std::int32_t> decided_classes(const TensorView& classes, std::int64_t first_index,
                                          std::int64_t num_rows, std::int64_t num_classes);

// The record of a sample with one class label. label_rank, best_rank and worst_rank are 0 of a
// right prediction, 1 of a wrong one: at least one class is ahead of its label. Losses and
// confidence are NaN. predicted: -1 for none.
MulticlassRecord decided_record(std::int64_t index, std::int64_t label, std::int64_t predicted,
                                std::optional<std::int64_t> ignore_index);
// Those of samples that follow one another.
std::vector<MulticlassRecord> decided_records(std::span<const std::int32_t> classes,
                                              std::span<const std::int64_t> labels,
                                              std::int64_t first_index,
                                              std::optional<std::int64_t> ignore_index);

// Records of samples whose labels are judged one by one. decisions: [rows, labels] of 0, 1 or -1; a
// sample that lacks one of them counts as not predicted. targets: int64 [>= rows] or uint8
// [>= rows, labels], as compute_multilabel_statistics() takes them. Probabilities are 1 of a label
// that is predicted and 0 of others. Error(internal) for other targets.
void compute_decided_labels(std::span<const std::int32_t> decisions, const TensorView& targets,
                            std::int64_t first_index, std::int64_t num_rows,
                            std::optional<std::int64_t> ignore_index, LabelStatistics& stats);

}  // namespace tally::metrics
