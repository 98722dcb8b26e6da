// SPDX-License-Identifier: Apache-2.0
#include <tally/session/gpu_versions.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/model/load_torch_libraries.hpp>

namespace tally::app {
namespace {

// CUDA 13.2 is written 13020 and cuDNN 9.19.0 is written 91900: major versions begin at multiples
// of these.
constexpr int kCudaMajor = 1000;
constexpr int kCudnnMajor = 10000;

std::string problem(std::string_view library, int loaded, std::string_view who, int compiled) {
  return format("{} {} is loaded, but {} was compiled with {}", library, loaded, who, compiled);
}

}  // namespace

std::optional<std::string> version_problem(const GpuVersions& versions) {
  if (!goes_with(versions.cuda_runtime, versions.cuda_header, kCudaMajor)) {
    return problem("CUDA runtime", versions.cuda_runtime, "tally", versions.cuda_header);
  }
  if (!goes_with(versions.cuda_runtime, versions.cuda_of_torch, kCudaMajor)) {
    return problem("CUDA runtime", versions.cuda_runtime, "LibTorch", versions.cuda_of_torch);
  }
  if (!goes_with(versions.cudnn, versions.cudnn_of_torch, kCudnnMajor)) {
    return problem("cuDNN", versions.cudnn, "LibTorch", versions.cudnn_of_torch);
  }
  return std::nullopt;
}

GpuVersions check_gpu_libraries(const device::Device& device, const device::GpuInventory& gpus) {
  if (device.kind != DeviceKind::cuda) return {};
  // Two copies of a library in one process have states of their own, and calls may reach either.
  require_single_copies({"libcudart.so", "libcudnn.so", "libnccl.so"}, loaded_libraries());
  const auto torch = model::torch_gpu_versions();
  const GpuVersions versions{device::cuda_header_version(), gpus.runtime_version,
                             torch.cuda_built_for, torch.cudnn_built_for, torch.cudnn_loaded};
  if (const auto problem = version_problem(versions)) {
    throw Error(ErrorKind::environment, *problem,
                "Build tally with the CUDA of this LibTorch, and keep other copies out of "
                "LD_LIBRARY_PATH.");
  }
  return versions;
}

}  // namespace tally::app
