// SPDX-License-Identifier: Apache-2.0
#include <tally/graph_optimizer/optimized_graph.hpp>

#include <utility>

#include "cpu_module.hpp"
#include "gpu_module.hpp"

namespace tally::graph_optimizer {

std::unique_ptr<OptimizedGraph> optimize_for_cpu(torch::jit::Module frozen, StackOf stack_of,
                                                 std::string name, const CpuOptions& options) {
  return std::make_unique<CpuModule>(std::move(frozen), std::move(stack_of), std::move(name),
                                     options);
}

std::unique_ptr<OptimizedGraph> optimize_for_gpu(torch::jit::Module frozen, StackOf stack_of,
                                                 std::string name, c10::Device device,
                                                 bool may_fuse) {
  return std::make_unique<GpuModule>(std::move(frozen), std::move(stack_of), std::move(name),
                                     device, may_fuse);
}

}  // namespace tally::graph_optimizer
