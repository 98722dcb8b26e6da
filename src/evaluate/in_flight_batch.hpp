// SPDX-License-Identifier: Apache-2.0
// A batch on its way: copied to the device, prepared, predicted, scored, its records back, and when
// a GPU did each of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tally/data/batch_reader.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>
#include <tally/tasks/task.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::evaluate {

// When the parts of a batch's work began and ended on a GPU: for a trace.
class GpuTimestamps {
 public:
  // The copies have a stream of their own; the others follow one another on one stream.
  enum Point { copy_begins, copy_ends, prepare_begins, forward_begins, metrics_begin, metrics_end };

  explicit GpuTimestamps(const device::Device& device);

  void mark(Point point, const device::Stream& stream) const { events_[point].record(stream); }
  // Tells the recorder that lives. Every point is marked and has happened.
  void record(const device::Timeline& timeline, trace::BatchId of_batch) const;

 private:
  std::vector<device::Event> events_;  // [Point]
};

// One of a ring; used again once its batch is complete.
struct InFlightBatch {
  // slot_bytes: of the memory that a batch of the source lies in.
  InFlightBatch(const device::Device& device, std::int64_t slot_bytes,
                std::unique_ptr<tasks::BatchScorer> batch_scorer);

  // The batch as `compute` will find it in the device's memory; copied there by `copies`, while
  // `compute` is busy with earlier ones. On the CPU the batch itself.
  data::Batch copy_to_device(const data::Batch& batch, const device::Stream& copies,
                             const device::Stream& compute);

  // For a trace; nothing without marks.
  void mark(GpuTimestamps::Point point, const device::Stream& stream) const {
    if (marks) marks->mark(point, stream);
  }

  std::unique_ptr<tasks::BatchScorer> scorer;
  device::DeviceBuffer memory;  // empty on the CPU
  device::Event copied;
  device::Event done;  // everything, the records included
  trace::BatchId of_batch;
  // As the batch has them.
  std::vector<std::int64_t> indices;
  bool ends_block = true;
  std::optional<GpuTimestamps> marks;
};

}  // namespace tally::evaluate
