// SPDX-License-Identifier: Apache-2.0
// What LibTorch keeps of a GPU's memory is given back when it is asked for. The allocator is
// played.
#include <gtest/gtest.h>

#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "torch_predictor.hpp"

namespace tally::model {
namespace {

class PlayedAllocator final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { ++num_emptied; }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  c10::DataPtr allocate(std::size_t) override { return {}; }
  void copy_data(void*, const void*, std::size_t) const override {}

  int num_emptied = 0;
};

class NoNetwork final : public Network {
 public:
  const std::string& name() const override { return name_; }
  Tensors run(Tensors inputs) override { return inputs; }

 private:
  std::string name_ = "none.pt";
};

int num_emptied_by(DeviceKind kind) {
  PlayedAllocator allocator;
  auto* const before = c10::GetAllocator(c10::kCUDA);
  c10::SetAllocator(c10::kCUDA, &allocator, 255);
  device::Device device;
  device.kind = kind;
  make_torch_predictor(std::make_unique<NoNetwork>(), {}, device, nullptr)->free_unused_memory();
  c10::SetAllocator(c10::kCUDA, before, 255);
  return allocator.num_emptied;
}

TEST(GpuMemoryTest, IsGivenBackOnAGpuAlone) {
  EXPECT_EQ(num_emptied_by(DeviceKind::cuda), 1);
  EXPECT_EQ(num_emptied_by(DeviceKind::cpu), 0);
}

}  // namespace
}  // namespace tally::model
