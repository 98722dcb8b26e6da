// SPDX-License-Identifier: Apache-2.0
// How a TorchScript network is to run on CPUs.
#pragma once

#include <cstdint>

namespace tally::model {

// Which kernels. `automatic`: LibTorch's, oneDNN Graph's and our own, whatever suits each
// operation; `onednn_graph`: without our own convolutions; `own`: without oneDNN Graph; `torch`:
// nothing but the operators that the model's file names.
enum class CpuKernels { automatic, onednn_graph, own, torch };

struct CpuExecutionSettings {
  CpuKernels kernels = CpuKernels::automatic;
  // Samples in a piece of a batch, about; 0: by what the network's layers read and write.
  std::int64_t at_a_time = 0;
  bool operator==(const CpuExecutionSettings&) const = default;
};

}  // namespace tally::model
