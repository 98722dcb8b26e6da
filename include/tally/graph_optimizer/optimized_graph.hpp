// SPDX-License-Identifier: Apache-2.0
// An OptimizedGraph runs a frozen TorchScript module with graph passes and kernels of our own in
// it, where these suit its device and give the same scores but for rounding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <tally/graph_optimizer/cpu_kernels.hpp>

namespace tally::graph_optimizer {

using Tensors = std::vector<at::Tensor>;

// Makes what forward() of the module takes for these inputs: the module itself, the inputs, and
// defaults for the rest.
using StackOf = std::function<torch::jit::Stack(const torch::jit::Module&, const Tensors& inputs)>;

// What a few samples show of a graph.
struct TriedGraph {
  c10::IValue scores;                 // as the graph gives them
  std::int64_t micro_batch_size = 0;  // samples that it runs best at a time
};

// All of it under InferenceMode and without LibTorch's optimizing executor. Runs throw what
// LibTorch throws.
class OptimizedGraph {
 public:
  virtual ~OptimizedGraph() = default;

  // Settles how batches of these shapes run, if it was for others before, and runs one.
  virtual c10::IValue warm_up(const Tensors& inputs) = 0;
  // The first call settles it if warm_up() was not called; afterwards several threads may run at
  // once, unless the network keeps state.
  virtual c10::IValue run(const Tensors& inputs) = 0;
  // Runs a few samples as the file says. Nothing where batches must stay whole.
  virtual std::optional<TriedGraph> try_samples(const Tensors& /*inputs*/) { return std::nullopt; }
  // The fewest rows that it runs well in the form of its last warm-up.
  virtual std::int64_t least_rows() const { return 1; }

  // Changes what the next warm-up tries. On GPUs CpuKernels::torch alone changes anything: the
  // graph runs as it is from this call on.
  virtual void use_kernels(CpuKernels kernels) = 0;
  // What may be faster than the last warm-up's; empty where there is nothing else to try.
  virtual std::vector<CpuKernels> other_kernels() const { return {}; }

  // Whether ScoredPlaces has an effect on run().
  virtual bool scores_at_places() const { return false; }

  // What was done to the graph: "Winograd F(2x2, 3x3), oneDNN Graph", or empty.
  virtual std::string form() const = 0;
  // What the user should know about how it runs.
  virtual std::vector<std::string> notes() const = 0;
};

// Both free the module's weights when the graph goes. `name`: of the model, for notes.
std::unique_ptr<OptimizedGraph> optimize_for_cpu(torch::jit::Module frozen, StackOf stack_of,
                                                 std::string name, const CpuOptions& options);
// Moves constants to `device` first. Networks that keep state may not be tried, and so not be
// fused (`may_fuse`).
std::unique_ptr<OptimizedGraph> optimize_for_gpu(torch::jit::Module frozen, StackOf stack_of,
                                                 std::string name, c10::Device device,
                                                 bool may_fuse);

}  // namespace tally::graph_optimizer
