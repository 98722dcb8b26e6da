// The GPU of a test; without one the test is skipped with the reason, unless TALLY_REQUIRE_GPU=1.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include <tally/device/gpus.hpp>
#include <tally/device/placement.hpp>

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

}  // namespace tally
