// SPDX-License-Identifier: Apache-2.0
#include <tally/device/gpus.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tally::device {
namespace {

using testing::HasSubstr;

GpuInventory explained(GpuQuery query, int driver_version, const char* visible) {
  GpuInventory inventory;
  inventory.driver_version = driver_version;
  inventory.runtime_version = 13000;
  explain_absence(inventory, query, visible, "unknown error");
  return inventory;
}

TEST(ExplainAbsence, NamesTheCause) {
  struct Case {
    GpuQuery query;
    int driver_version;
    const char* visible;
    GpuAbsence absence;
    const char* text;
  };
  for (const Case& c : std::initializer_list<Case>{
           {GpuQuery::insufficient_driver, 0, nullptr, GpuAbsence::no_driver, "no NVIDIA driver"},
           {GpuQuery::insufficient_driver, 0, "0,1", GpuAbsence::no_driver, "no NVIDIA driver"},
           {GpuQuery::insufficient_driver, 12040, nullptr, GpuAbsence::driver_too_old,
            "for CUDA 12.4, this tally needs 13.0"},
           {GpuQuery::no_device, 13020, nullptr, GpuAbsence::no_device, "finds none"},
           {GpuQuery::no_device, 13020, "", GpuAbsence::hidden, "CUDA_VISIBLE_DEVICES=''"},
           {GpuQuery::no_device, 13020, "7\n", GpuAbsence::hidden, "CUDA_VISIBLE_DEVICES='7\\x0a'"},
           {GpuQuery::failed, 13020, nullptr, GpuAbsence::failed, "unknown error"}}) {
    const auto inventory = explained(c.query, c.driver_version, c.visible);
    EXPECT_EQ(inventory.absence, c.absence) << c.text;
    EXPECT_THAT(inventory.why_none, HasSubstr(c.text));
  }
  EXPECT_EQ(explained(GpuQuery::found, 13020, "").absence, GpuAbsence::none);
  EXPECT_EQ(explained(GpuQuery::found, 13020, "").why_none, "");
}

TEST(CudaVersionText, IsThatOfNvidiaSmi) {
  EXPECT_EQ(cuda_version_text(13020), "13.2");
  EXPECT_EQ(cuda_version_text(12040), "12.4");
  EXPECT_EQ(cuda_version_text(11080), "11.8");
}

TEST(UuidText, IsThatOfNvidiaSmi) {
  std::array<std::byte, 16> uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) uuid[i] = static_cast<std::byte>(i * 0x11);
  EXPECT_EQ(uuid_text(uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

// Holds on every machine, with and without GPUs, in both builds.
TEST(ListGpus, FindsGpusOrSaysWhyNot) {
  const auto inventory = list_gpus();
  EXPECT_EQ(inventory.gpus.empty(), !inventory.why_none.empty());
  EXPECT_EQ(inventory.gpus.empty(), inventory.absence != GpuAbsence::none);
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    const Gpu& gpu = inventory.gpus[i];
    EXPECT_EQ(gpu.index, static_cast<int>(i));
    EXPECT_THAT(gpu.uuid, testing::StartsWith("GPU-"));
    EXPECT_NE(gpu.name, "");
    EXPECT_GE(gpu.compute_capability.size(), 2u);
    uuids.insert(gpu.uuid);
  }
  EXPECT_EQ(uuids.size(), inventory.gpus.size());
}

}  // namespace
}  // namespace tally::device
