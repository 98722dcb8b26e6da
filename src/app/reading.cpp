#include "reading.hpp"

#include <sched.h>

#include <algorithm>

namespace tally::app {

std::int64_t usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

int read_threads_for(const config::RunConfig& config, const device::Device& device,
                     int local_world_size) {
  constexpr std::int64_t kMost = 8;
  if (config.read_threads != config::kAutoReadThreads) return config.read_threads;
  if (device.kind == DeviceKind::cpu) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(usable_cores() / local_world_size, 1, kMost));
}

}  // namespace tally::app
