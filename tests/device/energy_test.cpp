// SPDX-License-Identifier: Apache-2.0
// Energy is counted where a library counts it, and nowhere else.
#include <gtest/gtest.h>

#include <string>

#include <tally/device/energy.hpp>

namespace tally::device {
namespace {

constexpr const char* kLibrary = TALLY_FAKE_NVML;

Device gpu(const std::string& uuid) {
  return {.kind = DeviceKind::cuda, .index = 0, .model = "a GPU", .uuid = uuid};
}

TEST(Energy, IsWhatTheCounterRoseSinceTheStart) {
  const EnergyMeter meter(gpu("GPU-1"), kLibrary);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 1.5);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 3.0);
}

TEST(Energy, IsUnknownWhereNobodyCounts) {
  EXPECT_FALSE(EnergyMeter(Device{}, kLibrary).joules()) << "on the CPU";
  EXPECT_FALSE(EnergyMeter(gpu("GPU-1"), "libno-such-library.so.1").joules());
  EXPECT_FALSE(EnergyMeter(gpu("GPU-1"), "libm.so.6").joules()) << "another library";
  EXPECT_FALSE(EnergyMeter(gpu("GPU-elsewhere"), kLibrary).joules());
  EXPECT_FALSE(EnergyMeter(gpu("GPU-old"), kLibrary).joules());
  EXPECT_FALSE(EnergyMeter(gpu("GPU-restarted"), kLibrary).joules());
}

}  // namespace
}  // namespace tally::device
