#include <tally/device/timeline.hpp>

#include <cmath>

#include <tally/base/clock.hpp>

#include "runtime.hpp"

namespace tally::device {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

// Asks again and again: a sleeping host would wake up too late to tell the time.
std::int64_t time_of(const Event& event) {
  while (!event.is_done()) {
  }
  return now_ns();
}

}  // namespace

Timeline::Timeline(const Stream& stream) : start_(stream.device(), Timing::on) {
  stream.synchronize();
  start_.record(stream);
  start_ns_ = time_of(start_);
}

std::int64_t Timeline::when_ns(const Event& event) const {
  const double since_ms = cuda::milliseconds_between(start_.handle(), event.handle());
  return start_ns_ + std::llround(since_ms * kNanosecondsPerMillisecond);
}

}  // namespace tally::device
