// When a GPU did something, on the host's clock.
#pragma once

#include <cstdint>

#include <tally/device/stream.hpp>

namespace tally::device {

class Timeline {
 public:
  // Of a stream on a GPU, for which the host waits here, and never again. Error(environment).
  explicit Timeline(const Stream& stream);

  // Nanoseconds of the steady clock. `event` is timed, of the same device, and has happened: nobody
  // waits. Good to a microsecond in the first seconds, to 0.1 ms after half an hour: CUDA gives
  // milliseconds as float.
  std::int64_t when_ns(const Event& event) const;

 private:
  Event start_;
  std::int64_t start_ns_;
};

}  // namespace tally::device
