// SPDX-License-Identifier: Apache-2.0
// Which stream LibTorch works on, by LibTorch's own fake of a machine with GPUs: a program of its
// own, since the fake takes the place of LibTorch's CUDA half.

#include <bit>

#include <c10/core/impl/FakeGuardImpl.h>
#include <gtest/gtest.h>

#include <tally/libtorch/torch_device_and_stream.hpp>

namespace tally::libtorch {
namespace {

using FakeGpus = c10::impl::FakeGuardImpl<c10::kCUDA>;
C10_REGISTER_GUARD_IMPL(CUDA, FakeGpus)

const device::Device kGpu{.kind = DeviceKind::cuda, .index = 1, .model = "fake"};
const c10::Device kTorchGpu{c10::kCUDA, 1};

void* handle(std::intptr_t number) { return std::bit_cast<void*>(number); }

TEST(StreamScopeTest, TheInnermostIsCurrentOnItsGpu) {
  EXPECT_EQ(current_stream(kTorchGpu), nullptr);
  {
    const StreamScope outer(kGpu, handle(0x7f0000001230));
    EXPECT_EQ(current_stream(kTorchGpu), handle(0x7f0000001230));
    {
      const StreamScope inner(kGpu, handle(0x7f0000004560));
      EXPECT_EQ(current_stream(kTorchGpu), handle(0x7f0000004560));
    }
    EXPECT_EQ(current_stream(kTorchGpu), handle(0x7f0000001230));
    EXPECT_EQ(current_stream({c10::kCUDA, 0}), nullptr);
  }
  EXPECT_EQ(current_stream(kTorchGpu), nullptr);
}

TEST(StreamScopeTest, OnTheCpuItDoesNothing) {
  const StreamScope scope({.kind = DeviceKind::cpu, .model = "fake"}, handle(0x1230));
  EXPECT_EQ(current_stream({c10::kCUDA, 0}), nullptr);
}

// Its number is no handle: a kernel would be launched on an address that is none.
TEST(StreamScopeTest, StreamsOfLibTorchAreRefused) {
  const c10::StreamGuard guard(c10::Stream(c10::Stream::UNSAFE, kTorchGpu, 3));
  EXPECT_THROW(current_stream(kTorchGpu), c10::Error);
}

}  // namespace
}  // namespace tally::libtorch
