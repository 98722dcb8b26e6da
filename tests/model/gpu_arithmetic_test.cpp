// SPDX-License-Identifier: Apache-2.0
// How a GPU is to compute float32 products, as LibTorch's switches say it: no GPU is needed for
// that.
#include <string>
#include <tuple>

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precision.hpp"

namespace tally::model {
namespace {

using Settings = std::tuple<Precision, bool>;

std::string name_of(const testing::TestParamInfo<Settings>& info) {
  const auto& [precision, tune] = info.param;
  return std::string(name(precision)) + (tune ? "_tuned" : "");
}

class GpuArithmeticTest : public testing::TestWithParam<Settings> {};

TEST_P(GpuArithmeticTest, IsTheSameForAllWhoAskLibTorch) {
  const auto [precision, tune] = GetParam();
  const auto& context = at::globalContext();
  device::Device gpu;
  gpu.kind = DeviceKind::cuda;
  set_gpu_arithmetic(precision, tune, gpu);
  const bool tf32 = precision == Precision::tf32;
  EXPECT_EQ(context.allowTF32CuBLAS(), tf32);
  EXPECT_EQ(context.allowTF32CuDNN(), tf32);
  for (const auto op : {at::Float32Op::CONV, at::Float32Op::RNN, at::Float32Op::MATMUL}) {
    EXPECT_EQ(context.float32Precision(at::Float32Backend::CUDA, op) == at::Float32Precision::TF32,
              tf32);
  }
  for (const auto op : {at::Float32Op::CONV, at::Float32Op::RNN}) {
    EXPECT_EQ(context.allowTF32CuDNN(op), tf32);
  }
  EXPECT_EQ(context.float32MatmulPrecision(),
            tf32 ? at::Float32MatmulPrecision::HIGH : at::Float32MatmulPrecision::HIGHEST);
  EXPECT_EQ(context.benchmarkCuDNN(), tune);
  EXPECT_EQ(context.deterministicCuDNN(), !tune);
}

TEST(NoteOnFloat32Test, IsForGpusThatCouldBeFasterAlone) {
  device::Device gpu;
  gpu.kind = DeviceKind::cuda;
  const auto note = [&](const char* capability, Precision precision, c10::ScalarType type) {
    gpu.compute_capability = capability;
    return note_on_float32(type, precision, gpu);
  };
  for (const auto* capability : {"80", "90", "120"}) {
    EXPECT_THAT(note(capability, Precision::model, at::kFloat), testing::HasSubstr("tf32"));
    EXPECT_THAT(note(capability, Precision::fp32, at::kFloat), testing::HasSubstr("tf32"));
    EXPECT_EQ(note(capability, Precision::tf32, at::kFloat), "");
    EXPECT_EQ(note(capability, Precision::model, at::kBFloat16), "");
  }
  EXPECT_EQ(note("75", Precision::fp32, at::kFloat), "");
  EXPECT_EQ(note_on_float32(at::kFloat, Precision::fp32, {}), "") << "on a CPU";
}

INSTANTIATE_TEST_SUITE_P(All, GpuArithmeticTest,
                         testing::Combine(testing::Values(Precision::fp32, Precision::tf32,
                                                          Precision::bf16, Precision::model),
                                          testing::Bool()),
                         name_of);

}  // namespace
}  // namespace tally::model
