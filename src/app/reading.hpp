// How a run reads its data set.
#pragma once

#include <cstdint>

#include <tally/config/run_config.hpp>
#include <tally/device/device.hpp>

namespace tally::app {

// --read-threads, or what "auto" stands for: computing on the CPU needs the cores itself.
int read_threads_for(const config::RunConfig& config, const device::Device& device,
                     int local_world_size);

}  // namespace tally::app
