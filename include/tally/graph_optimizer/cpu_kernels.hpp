// SPDX-License-Identifier: Apache-2.0
// This says which kernels a TorchScript network may run on CPUs, as --cpu-kernels has it.
#pragma once

namespace tally::graph_optimizer {

// `automatic`: LibTorch's, oneDNN Graph's and our own, whatever suits each operation;
// `onednn_graph`: without our own convolutions; `own`: without oneDNN Graph; `torch`: nothing but
// the operators that the model's file names.
enum class CpuKernels { automatic, onednn_graph, own, torch };

// What the caller says of a network on CPUs.
struct CpuOptions {
  CpuOptions(CpuKernels wanted, bool scores = false)  // NOLINT(google-explicit-constructor)
      : kernels(wanted), may_score_at_places(scores) {}
  CpuKernels kernels;
  bool may_score_at_places;  // see scored_places.hpp
};

}  // namespace tally::graph_optimizer
