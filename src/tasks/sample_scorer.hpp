// SPDX-License-Identifier: Apache-2.0
// What tasks share that look at one sample of a batch after the other, on the host.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/device/device.hpp>
#include <tally/metrics/device_accumulator.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/task.hpp>

#include "batch_tensors.hpp"
#include "column.hpp"

namespace tally::tasks {

inline TensorView row_of(const TensorView& batch, std::int64_t row) {
  const Shape shape(batch.shape.begin() + 1, batch.shape.end());
  auto* const data = batch.as<std::byte>() + row * num_elements(shape) * size_bytes(batch.dtype);
  return contiguous_view(data, batch.dtype, shape);
}

// Adds a row to the records.
template <class Row>
void append(const Row& row, const std::vector<Column<Row>>& columns,
            predictions::RecordBatch& records) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto& bytes = records.columns[c];
    const std::size_t before = bytes.size();
    bytes.resize(before + to_size(columns[c].spec.row_bytes()));
    columns[c].fill(row, std::span(bytes).subspan(before));
  }
  ++records.num_rows;
}

template <class Row>
void clear(const std::vector<Column<Row>>& columns, predictions::RecordBatch& records) {
  records.num_rows = 0;
  records.columns.resize(columns.size());
  for (auto& column : records.columns) column.clear();
}

// Error(model) if an image of the model's `what` ("scores"), height and width, is not of the size
// of the labels [rows, height, width].
inline void check_image_size(std::string_view what, const Shape& found, const TensorView& labels) {
  if (found[0] == labels.shape.at(1) && found[1] == labels.shape.at(2)) return;
  throw Error(ErrorKind::model,
              format("the model returned {} of {} x {} pixels, /targets/label has {} x {}", what,
                     found[0], found[1], labels.shape[1], labels.shape[2]),
              format("Export a model that returns {} of the labels' size, or prepare labels of its "
                     "size.",
                     what));
}

// A model's one output against the label. Config has `options`, `label_position`, `metrics`,
// `columns` and `retained`; Counter, made of them:
//   check(output, labels)             Error(model) where the two of a batch do not fit
//   reduced(output, stream)           what is to be brought to the host of a batch's output
//   count(index, output, label)       of one sample: its row, which may point into the counter
template <class Config, class Counter>
class SampleScorer : public BatchScorer {
 public:
  SampleScorer(const Config& config, const device::Device& device)
      : config_(config), outputs_(device), labels_(device), counter_(config) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& output = only_output(batch.outputs);
    const TensorView& labels = label_of(batch, config_.options, config_.label_position);
    counter_.check(output, labels);
    check_rows(batch);
    first_index_ = batch.first_index;
    num_samples_ = batch.num_samples;
    counts_ = &counts;
    const TensorView needed = counter_.reduced(output, counts.stream());
    outputs_.fetch({&needed, 1}, counts.stream());
    labels_.fetch({&labels, 1}, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite.clear();
    clear(config_.columns, collected.records);
    clear(config_.retained, collected.retained);
    for (std::int64_t row = 0; row < num_samples_; ++row) {
      const auto found =
          counter_.count(static_cast<std::uint64_t>(first_index_ + row),
                         row_of(outputs_.views()[0], row), row_of(labels_.views()[0], row));
      config_.metrics.update(std::span(&found, 1), counts_->on_host());
      if (!found.finite) collected.not_finite.push_back(first_index_ + row);
      append(found, config_.columns, collected.records);
      append(found, config_.retained, collected.retained);
    }
  }

 private:
  const Config& config_;
  HostTensors outputs_, labels_;
  Counter counter_;
  std::int64_t first_index_ = 0;
  std::int64_t num_samples_ = 0;
  metrics::DeviceAccumulator* counts_ = nullptr;
};

}  // namespace tally::tasks
