// The GPU of a test; without one the test is skipped with the reason, unless TALLY_REQUIRE_GPU=1.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include <tally/base/error.hpp>
#include <tally/device/device.hpp>

namespace tally {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu_ = device::choose_device(device::DeviceRequest::cuda, 0);
    } catch (const Error& error) {
      if (std::getenv("TALLY_REQUIRE_GPU") != nullptr) FAIL() << error.what();
      GTEST_SKIP() << "no GPU: " << error.what();
    }
  }

  device::Device gpu_;
  device::Device cpu_;
};

}  // namespace tally
