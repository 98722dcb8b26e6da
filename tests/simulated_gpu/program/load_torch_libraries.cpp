// SPDX-License-Identifier: Apache-2.0
// Twin of src/model/load_torch_libraries.cpp: LibTorch's half for CUDA stays away.
#include "load_torch_libraries.hpp"

#include <cuda_runtime_api.h>

#include <tally/base/error.hpp>
#include <tally/model/load_torch_libraries.hpp>

namespace tally::model {

void load_package_support() {
  throw Error(ErrorKind::environment, "there are no packages for the simulated GPU");
}

void load_cuda_half() {}
void load_cuda_support(const device::Device&) {}
std::future<void> load_ahead(const device::Device&) { return {}; }

void wait_for(const device::Device& device) {
  if (device.kind == DeviceKind::cuda) cudaDeviceSynchronize();
}

TorchGpuVersions torch_gpu_versions() { return {.cuda_built_for = CUDART_VERSION}; }

}  // namespace tally::model
