// What LibTorch was built for and what it found, on a GPU.
#pragma once

namespace tally::model {

// As CUDA and cuDNN write versions: 13000 is CUDA 13.0, 91900 is cuDNN 9.19.0.
struct TorchGpuVersions {
  int cuda_built_for = 0;
  int cudnn_built_for = 0;
  int cudnn_loaded = 0;
};

// Once a predictor has been loaded for a GPU; torch fails otherwise, as Error(environment).
TorchGpuVersions torch_gpu_versions();

}  // namespace tally::model
