#include "gpu_timestamps.hpp"

#include <tally/trace/recorder.hpp>
#include <tally/trace/span.hpp>

namespace tally::evaluate {
namespace {

struct Part {
  const char* name;
  std::int32_t track;
  GpuTimestamps::Point begin, end;
};

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

}  // namespace tally::evaluate
