// SPDX-License-Identifier: Apache-2.0
#include <tally/device/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tally/base/clock.hpp>

#include "runtime.hpp"

namespace tally::device {
namespace {

// On the CPU a buffer of the host and one of the device may be the same memory.
void copy_now(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty() && to != from.data()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

void StreamTraits::close(Handle stream) noexcept { cuda::destroy_stream(stream); }
void EventTraits::close(Handle event) noexcept { cuda::destroy_event(event); }

Stream::Stream(const Device& device) : device_(device) {
  if (device.kind == DeviceKind::cuda) {
    stream_ = UniqueHandle<StreamTraits>(cuda::make_stream(device.index, device.uuid));
  }
}

void Stream::copy_to_device(std::byte* to, std::span<const std::byte> from) const {
  if (!stream_) return copy_now(to, from);
  cuda::copy_to_device(to, from, handle());
}

void Stream::copy_to_host(std::byte* to, std::span<const std::byte> from) const {
  if (!stream_) return copy_now(to, from);
  cuda::copy_to_host(to, from, handle());
}

void Stream::fill_zero(std::span<std::byte> bytes) const {
  if (stream_) return cuda::fill_zero(bytes, handle());
  std::ranges::fill(bytes, std::byte{0});
}

void Stream::wait_for(const Event& event) const {
  if (stream_) cuda::wait_for(handle(), event.handle());
}

bool Stream::is_done() const { return !stream_ || cuda::is_done(handle()); }

void Stream::synchronize() const {
  if (stream_) cuda::synchronize(handle());
}

Event::Event(const Device& device, Timing timing) {
  if (device.kind == DeviceKind::cpu) return;
  event_ = UniqueHandle<EventTraits>(timing == Timing::on ? cuda::make_timed_event(device.index)
                                                          : cuda::make_event(device.index));
}

void Event::record(const Stream& stream) const {
  if (event_) cuda::record(handle(), stream.handle());
}

bool Event::is_done() const { return !event_ || cuda::has_happened(handle()); }

void Event::wait() const {
  if (event_) cuda::wait(handle());
}

void check_launch(std::string_view kernel) { cuda::check_launch(kernel); }

namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

// The clock is read as soon as the event has happened, so the thread does not sleep: it would wake
// up some microseconds late.
std::int64_t time_of(const Event& event) {
  while (!event.is_done()) {
  }
  return now_ns();
}

}  // namespace

Timeline::Timeline(const Stream& stream) : start_(stream.device(), Timing::on) {
  // With nothing before it in the stream the event happens as soon as it is recorded.
  stream.synchronize();
  start_.record(stream);
  start_ns_ = time_of(start_);
}

std::int64_t Timeline::when_ns(const Event& event) const {
  const double since_ms = cuda::milliseconds_between(start_.handle(), event.handle());
  return start_ns_ + std::llround(since_ms * kNanosecondsPerMillisecond);
}

}  // namespace tally::device
