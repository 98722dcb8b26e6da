#include "reading.hpp"

#include <algorithm>

#include <tally/device/numa.hpp>

namespace tally::app {

int read_threads_for(const config::RunConfig& config, const device::Device& device,
                     int local_world_size) {
  constexpr std::int64_t kMost = 8;
  if (config.read_threads != config::kAutoReadThreads) return config.read_threads;
  if (device.kind == DeviceKind::cpu) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(std::ssize(device::usable_cores()) / local_world_size, 1, kMost));
}

}  // namespace tally::app
