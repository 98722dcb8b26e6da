// SPDX-License-Identifier: Apache-2.0
// A GpuModule is a frozen module on a GPU; functions here change what has to be different in its
// graph before it runs there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <tally/graph_optimizer/optimized_graph.hpp>

namespace tally::graph_optimizer {

// Makes constants that name another device name `device`, copies constant tensors that lie
// elsewhere to it, those in lists and tuples too, and takes out x.cpu(): else tensors of two
// devices meet in the first batch, or each batch is copied to the host and back. A network that
// moves its own results to the CPU cannot be told from one that was traced there: its results stay
// on `device`.
void move_to_device(torch::jit::Graph& graph, c10::Device device);

// Traced convolutions carry the settings of the Python that traced them: whether TF32 is allowed,
// whether cuDNN times its kernels, whether it must be deterministic. Puts in their place the
// operator that asks the settings of this process (precision.hpp). Other operators carry none.
void obey_settings(torch::jit::Graph& graph);

class GpuModule final : public OptimizedGraph {
 public:
  // Changes the graph to what `device` needs (move_to_device(), obey_settings()).
  GpuModule(torch::jit::Module frozen, StackOf stack_of, std::string name, c10::Device device,
            bool may_fuse);
  // As with CpuModule the weights are freed here.
  ~GpuModule() override;
  GpuModule(const GpuModule&) = delete;
  GpuModule& operator=(const GpuModule&) = delete;

  // The first time, tries convolutions that are fused with what follows them, and pools of our own:
  // they stay if they give the same scores twice, those of the plain network but for rounding, and
  // NaN of NaN.
  c10::IValue warm_up(const Tensors& inputs) override;
  c10::IValue run(const Tensors& inputs) override;

  void use_kernels(CpuKernels kernels) override;

  std::string form() const override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Fused {
    torch::jit::Code code;
    std::string form;
  };

  static std::optional<Fused> fuse(const torch::jit::Module& module);
  torch::jit::Stack stack_of(const Tensors& inputs) const;
  // Empty, or why the fused graph is of no use.
  std::string reason_against_fused(const Tensors& inputs) const;

  StackOf stack_of_;
  std::string name_;
  torch::jit::Module module_;
  torch::jit::Code plain_;
  std::optional<Fused> fused_;  // in the place of the plain one, if it is there
  bool is_settled_ = false;
  std::vector<std::string> notes_;
};

}  // namespace tally::graph_optimizer
