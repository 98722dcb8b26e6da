// SPDX-License-Identifier: Apache-2.0
// Linked with the twins of a build without CUDA: a function that only the CUDA twin has, or that
// has other arguments here, does not link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/device/buffer.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/nvtx_ranges.hpp>
#include <tally/device/stream.hpp>

#include "../../src/comm/nccl_calls.hpp"
#include "../../src/metrics/passes/multiclass_and_token_kernels.hpp"
#include "../../src/metrics/passes/multilabel_kernel.hpp"
#include "../../src/preprocess/pixel_conversion.hpp"

namespace tally {
namespace {

TEST(WithoutCuda, ThereIsNoGpuAndAReason) {
  const auto inventory = device::list_gpus();
  EXPECT_TRUE(inventory.gpus.empty());
  EXPECT_EQ(inventory.absence, device::GpuAbsence::not_built);
  EXPECT_THAT(inventory.why_none, testing::HasSubstr("built without CUDA"));
  EXPECT_EQ(device::cuda_header_version(), 0);
  EXPECT_NO_THROW(device::make_current(device::Device{}));
  EXPECT_FALSE(device::are_ranges_seen());
  device::begin_range("a range that nobody sees");
  device::end_range();
}

TEST(WithoutCuda, TheCpuWorks) {
  const device::Device cpu;
  const device::Stream stream(cpu);
  const device::DeviceBuffer buffer(64, cpu);
  stream.fill_zero(buffer.bytes());
  stream.synchronize();
}

TEST(WithoutCuda, WhatNeedsItRefuses) {
  const device::Device gpu{DeviceKind::cuda, 0, "a GPU"};
  EXPECT_THROW(device::Stream{gpu}, Error);
  EXPECT_THROW(device::Event{gpu}, Error);
  EXPECT_THROW(device::Event(gpu, device::Timing::on), Error);
  const device::Device cpu;
  const device::Timeline timeline{device::Stream(cpu)};
  EXPECT_THROW(timeline.when_ns(device::Event(cpu)), Error);
  EXPECT_THROW(device::DeviceBuffer(64, gpu), Error);
  EXPECT_THROW(device::HostBuffer(64, gpu), Error);
  EXPECT_THROW(device::check_launch("a kernel"), Error);
  EXPECT_THROW(metrics::launch_label_rows({}, nullptr), Error);
  EXPECT_THROW(metrics::launch_score_rows({}, nullptr), Error);
  EXPECT_THROW(metrics::launch_carry(nullptr, nullptr, 0, nullptr), Error);
  EXPECT_THROW(preprocess::launch_convert({}, nullptr), Error);
  EXPECT_THROW(comm::load_nccl(), Error);
}

}  // namespace
}  // namespace tally
