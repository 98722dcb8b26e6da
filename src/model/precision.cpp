// SPDX-License-Identifier: Apache-2.0
#include "precision.hpp"

#include <algorithm>
#include <array>

#include <ATen/Context.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>

namespace tally::model {
namespace {

// Of x86 and ARM, as /proc/cpuinfo names them.
constexpr std::array<std::string_view, 3> kBfloat16{"avx512_bf16", "amx_bf16", "bf16"};
constexpr std::array<std::string_view, 3> kHalf{"avx512_fp16", "amx_fp16", "asimdhp"};

bool processor_has_any(std::span<const std::string_view> features) {
  return std::any_of(features.begin(), features.end(), [](std::string_view feature) {
    return cpu_features().contains(std::string(feature));
  });
}

}  // namespace

std::optional<c10::ScalarType> floating_type(Precision precision) {
  switch (precision) {
    case Precision::model:
    case Precision::amp_bf16:
    case Precision::amp_fp16:
      return std::nullopt;
    case Precision::fp32:
    case Precision::tf32:
      return c10::ScalarType::Float;
    case Precision::bf16:
      return c10::ScalarType::BFloat16;
    case Precision::fp16:
      return c10::ScalarType::Half;
  }
  throw Error(ErrorKind::internal, "an unknown precision");
}

std::optional<c10::ScalarType> autocast_type(Precision precision) {
  if (precision == Precision::amp_bf16) return c10::ScalarType::BFloat16;
  if (precision == Precision::amp_fp16) return c10::ScalarType::Half;
  return std::nullopt;
}

void set_gpu_arithmetic(Precision precision, bool tune, const device::Device& device) {
  const bool tf32 = precision == Precision::tf32;
  if (device.kind == DeviceKind::cpu) {
    // The other precisions are types of weights and inputs, which CPUs have as well.
    if (!tf32) return;
    throw Error(ErrorKind::environment, "--precision tf32: only GPUs have it, this run is on a CPU",
                "Use --precision fp32, or --device cuda.");
  }
  // Where cuDNN times its algorithms, each process may choose others, so that bits may differ
  // anyway.
  at::globalContext().setDeterministicCuDNN(!tune);
  at::globalContext().setBenchmarkCuDNN(tune);
  // These set the older switches and the newer ones by operator alike: where they differ, LibTorch
  // throws from whatever asks for the older ones (an RNN, TunableOp).
  at::globalContext().setAllowTF32CuDNN(tf32);
  at::globalContext().setAllowTF32CuBLAS(tf32);
}

std::string note_on_float32(std::optional<c10::ScalarType> type, Precision precision,
                            const device::Device& device) {
  constexpr std::string_view kFirstWithTf32 = "80";
  const auto& capability = device.compute_capability;
  // Capabilities are texts of two digits or three: "120" is longer than "80", and larger.
  const bool has_tf32 = capability.size() > kFirstWithTf32.size() || capability >= kFirstWithTf32;
  const bool is_slow = device.kind == DeviceKind::cuda && has_tf32 &&
                       type == c10::ScalarType::Float && precision != Precision::tf32;
  if (!is_slow) return {};
  return "float32 is computed as float32, without the GPU's matrix units: --precision tf32 or bf16 "
         "is several times as fast";
}

void warn_if_slow(std::optional<c10::ScalarType> type, const device::Device& device) {
  const bool bfloat16 = type == c10::ScalarType::BFloat16;
  if (device.kind != DeviceKind::cpu || !(bfloat16 || type == c10::ScalarType::Half)) return;
  if (bfloat16 ? processor_has_any(kBfloat16) : processor_has_any(kHalf)) return;
  log::warning(format("this processor ({}) has no instructions for {}: the run is slow",
                      cpu_model(), bfloat16 ? "bf16" : "fp16"));
}

}  // namespace tally::model
