// SPDX-License-Identifier: Apache-2.0
// The GPU of a test, and values on it. Without a GPU the test is skipped with the reason, unless
// TALLY_REQUIRE_GPU=1.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/placement.hpp>
#include <tally/device/stream.hpp>

namespace tally {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto inventory = device::list_gpus();
    if (inventory.gpus.empty()) {
      if (std::getenv("TALLY_REQUIRE_GPU") != nullptr) FAIL() << inventory.why_none;
      GTEST_SKIP() << "skipped for want of a GPU: " << inventory.why_none;
    }
    gpu_ = device::choose(device::DeviceRequest::cuda, 0, inventory).device;
  }

  device::Device gpu_;
  device::Device cpu_;
};

// Copied; the stream has passed when this returns.
template <class T>
device::DeviceBuffer on_device(const std::vector<T>& values, const device::Stream& stream) {
  const auto bytes = checked_cast<std::int64_t>(values.size() * sizeof(T));
  const device::HostBuffer host(bytes, stream.device());
  std::memcpy(host.data(), values.data(), to_size(bytes));
  device::DeviceBuffer memory(bytes, stream.device());
  stream.copy_to_device(memory.data(), host.bytes());
  stream.synchronize();
  return memory;
}

}  // namespace tally
