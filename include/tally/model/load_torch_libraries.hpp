// SPDX-License-Identifier: Apache-2.0
// These functions load LibTorch's part for GPUs ahead of use, and say what it was built for and
// what it found.
#pragma once

#include <future>

#include <tally/device/device.hpp>

namespace tally::model {

// This library holds all code that needs LibTorch. A program that is linked to LibTorch itself does
// not load it.
inline constexpr const char* kTorchLibrary = "libtally_torch.so";

// As CUDA and cuDNN write versions: 13000 is CUDA 13.0, 91900 is cuDNN 9.19.0.
struct TorchGpuVersions {
  int cuda_built_for = 0;
  int cudnn_built_for = 0;
  int cudnn_loaded = 0;
};

// Begins to load LibTorch's CUDA half (a gigabyte of libraries) on a thread of its own, while its
// caller reads the model; nothing on the CPU. Loading a predictor meanwhile waits for it, and
// throws what failed. The future's destructor waits too. Until then the caller leaves CUDA alone:
// both would take the locks of CUDA and of the dynamic loader, maybe in another order.
std::future<void> load_ahead(const device::Device& device);

// Once a predictor has been loaded for a GPU; torch fails otherwise, as Error(environment).
TorchGpuVersions torch_gpu_versions();

}  // namespace tally::model
