// SPDX-License-Identifier: Apache-2.0
// Goes over the scores of a batch with independent labels in one pass, which finds the statistics
// of each sample and counts them into the State. A GPU and the CPU give the same bits for the same
// scores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/device/buffer.hpp>
#include <tally/metrics/device_accumulator.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multiclass_statistics.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

enum class LabelRanking { left_out, wanted };

// How scores are read and judged; the same for all samples. Plain data: kernels are given it.
struct LabelRules {
  OutputKind kind = OutputKind::logits;
  bool has_ignore_index = false;
  std::int64_t ignore_index = 0;
  HingeOn hinge = HingeOn::nothing;
  LabelRanking ranking = LabelRanking::left_out;
  float threshold = 0.5f;  // predicted where the probability, as float32, is above it
};

// How the options want scores to be judged.
LabelRules label_rules(const MetricOptions& options, OutputKind kind);

struct LabelStatistics {
  std::vector<MultilabelRecord> rows;
  std::vector<float> probabilities;   // [rows, labels]
  std::vector<std::uint8_t> targets;  // [rows, labels]
  // The first row that is not of the given kind, as in RowStatistics. The rows are void then.
  std::optional<std::int64_t> wrong_kind_row;

  MultilabelRecords view() const { return {rows, probabilities, targets}; }
};

// Two forms, all float32 with unit stride along a row:
//   targets int64 [>= rows], 0, 1 or the ignored index: one label; scores [>= rows] or [>= rows, 1]
//     (of its being set) or [>= rows, 2] (of its not being set, and of its being set);
//   targets uint8 [>= rows, labels]: scores [>= rows, labels].
// first_index: global index of the first row. Error(internal) for other forms and other targets.
void compute_multilabel_statistics(const TensorView& scores, const TensorView& targets,
                                   std::int64_t first_index, std::int64_t num_rows,
                                   const LabelRules& rules, LabelStatistics& stats);

// Statistics of one batch on their way from the device to the host. Readable once the stream has
// passed the batch.
class BatchLabels {
 public:
  BatchLabels(std::int64_t max_rows, std::int64_t num_labels, const device::Device& device);

  // As compute_multilabel_statistics() gives them.
  const LabelStatistics& stats();

 private:
  friend class MultilabelPass;

  device::DeviceBuffer on_device_;  // empty on the CPU
  device::HostBuffer on_host_;
  std::int64_t max_rows_ = 0;
  std::int64_t num_labels_ = 0;
  std::int64_t num_rows_ = 0;
  LabelStatistics stats_;
};

class MultilabelPass {
 public:
  // `metrics` outlives the pass.
  MultilabelPass(const MetricSet& metrics, OutputKind kind);

  // Enqueues the pass on the stream of `counts`, and the statistics' way to the host. Scores and
  // targets are of the forms of compute_multilabel_statistics(), on the stream's device.
  // Error(internal) for other forms and too many rows.
  void enqueue(std::int64_t first_index, std::int64_t num_rows, const TensorView& scores,
               const TensorView& targets, DeviceAccumulator& counts, BatchLabels& stats) const;

 private:
  const MetricSet& metrics_;
  LabelRules rules_;
};

}  // namespace tally::metrics
