// SPDX-License-Identifier: Apache-2.0
#include "in_flight_batch.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::evaluate {
namespace {

struct Part {
  const char* name;
  std::int32_t track;
  GpuTimestamps::Point begin, end;
};

// Copies have a stream and a track of their own, beside the work on earlier batches. The other
// parts follow one another on one stream, so that each ends where the next begins.
constexpr Part kParts[] = {
    {"copy", trace::kCopyTrack, GpuTimestamps::copy_begins, GpuTimestamps::copy_ends},
    {"prepare", trace::kDeviceTrack, GpuTimestamps::prepare_begins, GpuTimestamps::forward_begins},
    {"forward", trace::kDeviceTrack, GpuTimestamps::forward_begins, GpuTimestamps::metrics_begin},
    {"metrics", trace::kDeviceTrack, GpuTimestamps::metrics_begin, GpuTimestamps::metrics_end},
};

}  // namespace

GpuTimestamps::GpuTimestamps(const device::Device& device) {
  for (int point = copy_begins; point <= metrics_end; ++point) {
    events_.emplace_back(device, device::Timing::on);
  }
}

void GpuTimestamps::record(const device::Timeline& timeline, trace::BatchId of_batch) const {
  trace::Recorder* const recorder = trace::recorder();
  if (recorder == nullptr) return;
  for (const Part& part : kParts) {
    auto event =
        trace::make_event(trace::Kind::device, part.name, timeline.when_ns(events_[part.begin]),
                          timeline.when_ns(events_[part.end]), of_batch);
    event.track = part.track;
    recorder->add(event);
  }
}

namespace {

// Returns views of the same tensors at the same places of another memory.
std::vector<TensorView> rebased(const std::vector<TensorView>& views, const std::byte* from,
                                std::byte* to) {
  std::vector<TensorView> result = views;
  for (TensorView& view : result) {
    view.data = to + (view.as<std::byte>() - from);
    view.device = DeviceKind::cuda;
  }
  return result;
}

}  // namespace

InFlightBatch::InFlightBatch(const device::Device& device, std::int64_t slot_bytes,
                             std::unique_ptr<tasks::BatchScorer> batch_scorer)
    : scorer(std::move(batch_scorer)), copied(device), done(device) {
  if (device.kind == DeviceKind::cuda) memory = device::DeviceBuffer(slot_bytes, device);
}

data::Batch InFlightBatch::copy_to_device(const data::Batch& batch, const device::Stream& copies,
                                          const device::Stream& compute) {
  of_batch = {batch.index, batch.samples.count};
  indices = batch.indices;
  ends_block = batch.ends_block;
  if (compute.device().kind == DeviceKind::cpu) return batch;
  mark(GpuTimestamps::copy_begins, copies);
  // All tensors of a batch lie in one slot, so that one copy moves them.
  copies.copy_to_device(memory.data(), batch.memory);
  mark(GpuTimestamps::copy_ends, copies);
  // The stream waits, not the host, which goes on to enqueue.
  copied.record(copies);
  compute.wait_for(copied);
  data::Batch on_device = batch;
  on_device.inputs = rebased(batch.inputs, batch.memory.data(), memory.data());
  on_device.targets = rebased(batch.targets, batch.memory.data(), memory.data());
  return on_device;
}

}  // namespace tally::evaluate
