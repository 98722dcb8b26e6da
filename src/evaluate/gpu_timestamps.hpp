// When the parts of a batch's work began and ended on a GPU: for a trace.
#pragma once

#include <vector>

#include <tally/device/stream.hpp>
#include <tally/device/timeline.hpp>
#include <tally/trace/event.hpp>

namespace tally::evaluate {

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

}  // namespace tally::evaluate
