// SPDX-License-Identifier: Apache-2.0
// Checks CUDA's libraries in this process: there must be one copy of each, and their versions must
// go together.
#pragma once

#include <optional>
#include <string>

#include <tally/device/gpus.hpp>

namespace tally::app {

// As CUDA and cuDNN write versions (13000 is 13.0, 91900 is 9.19.0).
struct GpuVersions {
  int cuda_header = 0;  // this program was compiled with
  int cuda_runtime = 0;
  int cuda_of_torch = 0;  // LibTorch was compiled with
  int cudnn_of_torch = 0;
  int cudnn = 0;
};

// Why these do not go together: a library may be newer than what was compiled against it, but not
// of another major version. None if they do.
std::optional<std::string> version_problem(const GpuVersions& versions);

// Not collective. Once a model is loaded on `device`; nothing is looked for on the CPU. Throws
// Error(environment).
GpuVersions check_gpu_libraries(const device::Device& device, const device::GpuInventory& gpus);

}  // namespace tally::app
