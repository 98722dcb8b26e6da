// SPDX-License-Identifier: Apache-2.0
// These settings say how a TorchScript network is to run on CPUs.
#pragma once

#include <cstdint>

#include <tally/graph_optimizer/cpu_kernels.hpp>

namespace tally::model {

using graph_optimizer::CpuKernels;

struct CpuExecutionSettings {
  CpuKernels kernels = CpuKernels::automatic;
  // Samples in a piece of a batch, about; 0: by what the network's layers read and write.
  std::int64_t at_a_time = 0;
  bool operator==(const CpuExecutionSettings&) const = default;
};

}  // namespace tally::model
