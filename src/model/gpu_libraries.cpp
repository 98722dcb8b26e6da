#include <tally/model/gpu_libraries.hpp>

#include <ATen/detail/CUDAHooksInterface.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "torch_errors.hpp"

namespace tally::model {

TorchGpuVersions torch_gpu_versions() {
  try {
    const auto& hooks = at::detail::getCUDAHooks();
    return {static_cast<int>(hooks.versionCUDART()), static_cast<int>(hooks.versionCuDNN()),
            static_cast<int>(hooks.versionRuntimeCuDNN())};
  } catch (const std::exception& error) {
    throw Error(ErrorKind::environment, format("LibTorch does not say which CUDA it is for ({})",
                                               first_meaningful_line(error.what())));
  }
}

}  // namespace tally::model
