// SPDX-License-Identifier: Apache-2.0
#include "load_torch_libraries.hpp"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <system_error>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/libtorch/torch_errors.hpp>
#include <tally/model/load_torch_libraries.hpp>

namespace tally::model {
namespace {

constexpr const char* kFirst = "libtorch_cpu.so";

// The folder of the LibTorch in this process: its other libraries must be of the same.
std::string torch_folder() {
  void* linked = dlopen(kFirst, RTLD_NOW | RTLD_NOLOAD);
  std::array<char, PATH_MAX> folder{};
  if (linked == nullptr || dlinfo(linked, RTLD_DI_ORIGIN, folder.data()) != 0) {
    throw Error(ErrorKind::environment,
                format("{} is not among the libraries of this process", kFirst),
                "Build tally with LibTorch's shared libraries.");
  }
  return folder.data();
}

// For good: LibTorch's libraries do not come off again.
void load(const std::string& library) {
  const auto path = torch_folder() + "/" + library;
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  const char* reason = dlerror();
  throw Error(ErrorKind::environment,
              format("LibTorch's {} cannot be loaded ({})", library,
                     reason == nullptr ? "no reason was given" : reason),
              "Install a complete LibTorch: for GPUs the wheel for CUDA (jobs/setup.sh).");
}

}  // namespace

void load_package_support() { load("libtorch.so"); }

void load_cuda_half() {
  for (const auto* library : {"libc10_cuda.so", "libtorch_cuda.so", "libtorch.so"}) load(library);
}

void load_cuda_support(const device::Device& device) {
  load_cuda_half();
  const int count = c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount();
  if (device.index < count) return;
  throw Error(ErrorKind::environment,
              format("LibTorch finds {} GPUs, this rank was given number {}", count, device.index),
              "See 'nvidia-smi', or use '--device cpu'.");
}

std::future<void> load_ahead(const device::Device& device) {
  if (device.kind == DeviceKind::cpu) return {};
  try {
    // The future holds what was thrown, until its owner asks.
    return std::async(std::launch::async, load_cuda_support, device);
  } catch (const std::system_error&) {
    return {};  // no thread to be had: then it is loaded when it is needed
  }
}

void wait_for(const device::Device& device) {
  if (device.kind == DeviceKind::cpu) return;
  c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
      .synchronizeDevice(static_cast<c10::DeviceIndex>(device.index));
}

TorchGpuVersions torch_gpu_versions() {
  try {
    const auto& hooks = at::detail::getCUDAHooks();
    return {static_cast<int>(hooks.versionCUDART()), static_cast<int>(hooks.versionCuDNN()),
            static_cast<int>(hooks.versionRuntimeCuDNN())};
  } catch (const std::exception& error) {
    throw Error(ErrorKind::environment, format("LibTorch does not say which CUDA it is for ({})",
                                               libtorch::first_meaningful_line(error.what())));
  }
}

}  // namespace tally::model
