// SPDX-License-Identifier: Apache-2.0
// That the simulated GPU notices what a real one would leave to chance.
#include "simulated_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <tally/base/error.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/stream.hpp>

namespace tally::device {
namespace {

Device the_gpu() {
  Device gpu;
  gpu.kind = DeviceKind::cuda;
  return gpu;
}

class SimulatedGpuTest : public testing::Test {
 protected:
  void SetUp() override { simulated_gpu::restart(7); }

  const Device gpu_ = the_gpu();
};
using SimulatedGpuDeathTest = SimulatedGpuTest;

TEST_F(SimulatedGpuTest, CopiesThereAndBack) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulated_gpu::restart(seed);
    const HostBuffer from(10'000, gpu_), to(10'000, gpu_);
    const DeviceBuffer there(10'000, gpu_);
    const Stream stream(gpu_);
    std::memset(from.data(), 3, 10'000);
    stream.copy_to_device(there.data(), from.bytes());
    stream.copy_to_host(to.data(), there.bytes());
    stream.synchronize();
    EXPECT_EQ(std::memcmp(from.data(), to.data(), 10'000), 0);
  }
}

TEST_F(SimulatedGpuTest, RunsStreamsInDifferentOrders) {
  int later = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    simulated_gpu::restart(seed);
    const HostBuffer host(100, gpu_);
    const DeviceBuffer there(100, gpu_);
    const Stream stream(gpu_);
    stream.copy_to_device(there.data(), host.bytes());
    later += stream.is_done() ? 0 : 1;
    stream.synchronize();
  }
  EXPECT_GT(later, 10);
  EXPECT_LT(later, 90);
}

TEST_F(SimulatedGpuTest, FailsTheCallThatIsAskedFor) {
  simulated_gpu::fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  const DeviceBuffer first(100, gpu_);
  EXPECT_THROW(DeviceBuffer(100, gpu_), Error);
  const DeviceBuffer third(100, gpu_);
}

TEST_F(SimulatedGpuTest, ErrorsNameTheGpuAndWhatItsDriverSays) {
  Device gpu = gpu_;
  gpu.uuid = "GPU-5a3c";
  const Stream stream(gpu);
  const auto failure_of = [&](cudaError_t code) {
    simulated_gpu::fail_call("cudaStreamSynchronize", 1, code);
    try {
      stream.synchronize();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(failure_of(cudaErrorECCUncorrectable),
              testing::AllOf(testing::StartsWith("work failed on GPU-5a3c ("),
                             testing::EndsWith("Look for 'Xid' 48 of this GPU in the kernel's log "
                                               "('dmesg').")));
  EXPECT_THAT(failure_of(cudaErrorNvlinkUncorrectable), testing::HasSubstr("'Xid' 74"));
  EXPECT_THAT(failure_of(cudaErrorIllegalAddress), testing::HasSubstr("'Xid' 31"));
  EXPECT_THAT(failure_of(cudaErrorLaunchFailure), testing::HasSubstr("'Xid' 13"));
  EXPECT_THAT(failure_of(cudaErrorInvalidDevice), testing::Not(testing::HasSubstr("Xid")));
}

// The error of a failed call is over with it: the next kernel has nothing to do with it.
TEST_F(SimulatedGpuTest, AFailedAllocationLeavesNoErrorForTheNextLaunch) {
  simulated_gpu::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
  EXPECT_THROW(DeviceBuffer(100, gpu_), Error);
  EXPECT_NO_THROW(check_launch("innocent"));
  simulated_gpu::fail_call("cudaHostAlloc", 1, cudaErrorMemoryAllocation);
  EXPECT_THROW(HostBuffer(100, gpu_), Error);
  EXPECT_NO_THROW(check_launch("innocent"));
}

TEST_F(SimulatedGpuDeathTest, TheHostTouchesMemoryOfTheGpu) {
  const DeviceBuffer there(100, gpu_);
  EXPECT_DEATH(there.data()[3] = std::byte{1},
               "TALLY_GPU_SEED=7: the host touches memory of the GPU");
}

TEST_F(SimulatedGpuDeathTest, ASlotIsFilledBeforeItsCopyIsOver) {
  const HostBuffer host(100, gpu_);
  const DeviceBuffer there(100, gpu_);
  const Stream stream(gpu_);
  stream.copy_to_device(there.data(), host.bytes());
  EXPECT_DEATH(host.data()[0] = std::byte{1}, "does not know that this is over: a copy to the GPU");
  stream.synchronize();
  host.data()[0] = std::byte{1};
}

TEST_F(SimulatedGpuDeathTest, AResultIsReadBeforeItsCopyIsOver) {
  const HostBuffer host(100, gpu_);
  const DeviceBuffer there(100, gpu_);
  const Stream stream(gpu_);
  stream.copy_to_host(host.data(), there.bytes());
  EXPECT_DEATH(EXPECT_EQ(host.data()[0], std::byte{0}), "a copy to the host");
}

TEST_F(SimulatedGpuDeathTest, MemoryIsNotPageLocked) {
  std::vector<std::byte> host(100);
  const DeviceBuffer there(100, gpu_);
  const Stream stream(gpu_);
  EXPECT_DEATH(stream.copy_to_device(there.data(), host), "not page-locked");
}

TEST_F(SimulatedGpuDeathTest, TwoStreamsShareMemoryWithoutAnEvent) {
  const HostBuffer host(100, gpu_), other(100, gpu_);
  const DeviceBuffer there(100, gpu_);
  const Stream copies(gpu_), results(gpu_);
  EXPECT_DEATH(
      {
        copies.copy_to_device(there.data(), host.bytes());
        results.copy_to_host(other.data(), there.bytes());
        copies.synchronize();
        results.synchronize();
      },
      "touch the same byte, and no event puts them in order");
  copies.copy_to_device(there.data(), host.bytes());
  const Event copied(gpu_);
  copied.record(copies);
  results.wait_for(copied);
  results.copy_to_host(other.data(), there.bytes());
  results.synchronize();
}

// A write after two reads on streams of their own, of which it waits for one.
TEST_F(SimulatedGpuDeathTest, OneOfTwoReadersIsNotWaitedFor) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    simulated_gpu::restart(seed);
    const HostBuffer first(100, gpu_), second(100, gpu_);
    const DeviceBuffer there(100, gpu_);
    const Stream one(gpu_), other(gpu_), writes(gpu_);
    const Event read(gpu_);
    one.copy_to_host(first.data(), there.bytes());
    other.copy_to_host(second.data(), there.bytes());
    read.record(other);
    EXPECT_DEATH(
        {
          writes.wait_for(read);
          writes.fill_zero(there.bytes());
          for (const auto* stream : {&one, &other, &writes}) stream->synchronize();
        },
        "no event puts them in order");
  }
}

TEST_F(SimulatedGpuDeathTest, AResultIsCopiedBackBeforeItIsThere) {
  const HostBuffer host(100, gpu_);
  const DeviceBuffer from(100, gpu_), to(100, gpu_);
  const Stream one(gpu_), other(gpu_);
  EXPECT_DEATH(
      {
        one.copy_to_host(host.data(), from.bytes());
        other.copy_to_device(to.data(), host.bytes());
        one.synchronize();
        other.synchronize();
      },
      "no event puts them in order");
}

TEST_F(SimulatedGpuDeathTest, AnEventIsUsedAfterItsEnd) {
  const Stream stream(gpu_);
  void* handle = nullptr;
  {
    const Event event(gpu_);
    handle = event.handle();
  }
  EXPECT_DEATH(cudaEventRecord(static_cast<cudaEvent_t>(handle), nullptr),
               "cudaEventRecord of an event that was destroyed");
}

}  // namespace
}  // namespace tally::device
