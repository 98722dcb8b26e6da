// SPDX-License-Identifier: Apache-2.0
// The kernel of binary and multilabel scores, behind a plain function. Twins: multilabel_kernel.cu
// and, in a build without CUDA, multilabel_kernel_no_cuda.cpp, which nobody calls there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tally/metrics/multilabel_pass.hpp>

#include "family_counters.hpp"
#include "passes/multiclass_and_token_kernels.hpp"
#include "passes/multilabel_statistics.hpp"

namespace tally::metrics {

// What the kernel finds of a batch, in one block of memory: one copy brings it all. Behind the rows
// lie the probabilities, float32 [max_rows, labels], and the targets, uint8 [max_rows, labels].
class LabelBlock {
 public:
  LabelBlock(std::byte* data, std::int64_t max_rows, std::int64_t num_labels)
      : data_(data), max_rows_(max_rows), num_labels_(num_labels) {}

  std::int64_t num_bytes() const { return targets_at() + max_rows_ * num_labels_; }
  BadRows* bad() const { return reinterpret_cast<BadRows*>(data_); }
  MultilabelRecord* rows() const {
    return reinterpret_cast<MultilabelRecord*>(data_ + sizeof(BadRows));
  }
  float* probabilities() const { return reinterpret_cast<float*>(data_ + probabilities_at()); }
  std::uint8_t* targets() const { return reinterpret_cast<std::uint8_t*>(data_ + targets_at()); }

 private:
  std::int64_t probabilities_at() const {
    return static_cast<std::int64_t>(sizeof(BadRows)) +
           max_rows_ * static_cast<std::int64_t>(sizeof(MultilabelRecord));
  }
  std::int64_t targets_at() const { return probabilities_at() + 4 * max_rows_ * num_labels_; }

  std::byte* data_;
  std::int64_t max_rows_;
  std::int64_t num_labels_;
};

// Scores and targets of a batch; pointers are to the device's memory.
struct LabelBatch {
  const float* scores = nullptr;
  std::int64_t score_stride = 0;         // from row to row
  std::int64_t num_scores = 0;           // of a row
  const std::int64_t* labels = nullptr;  // [rows], or
  const std::uint8_t* set = nullptr;     // [rows, labels]
  std::int64_t target_stride = 0;
  std::int64_t num_labels = 0;

  constexpr LabelInput row(std::int64_t i) const {
    return {scores + i * score_stride, num_scores,
            labels == nullptr ? nullptr : labels + i * target_stride,
            set == nullptr ? nullptr : set + i * target_stride, num_labels};
  }
};

// Everything one launch needs; pointers are to the device's memory.
struct LabelsToScore {
  LabelBatch batch;
  std::int64_t num_rows = 0;
  std::int64_t first_index = 0;
  LabelRules rules;
  RowCounters counters;
  std::int64_t* counts = nullptr;
  BadRows* bad = nullptr;
  MultilabelRecord* rows = nullptr;
  LabelPlace place;  // of the first row
};

// Enqueues on `stream`, a cudaStream_t.
void launch_label_rows(const LabelsToScore& rows, void* stream);

}  // namespace tally::metrics
