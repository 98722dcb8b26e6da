// SPDX-License-Identifier: Apache-2.0
// A frozen module on a GPU, and what has to change in its graph before it runs there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "network.hpp"
#include "torchscript/forward_inputs_and_outputs.hpp"

namespace tally::model {

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

class GpuModule {
 public:
  // Changes the graph to what `device` needs (move_to_device(), obey_settings()). `name`: of the
  // model, for notes. Networks that keep state may not be tried, and so not be fused.
  GpuModule(torch::jit::Module frozen, Arguments arguments, std::string name, c10::Device device,
            bool may_fuse);
  // As with CpuModule the weights are freed here.
  ~GpuModule();
  GpuModule(const GpuModule&) = delete;
  GpuModule& operator=(const GpuModule&) = delete;

  // The first time, tries convolutions that are fused with what follows them, and pools of our own:
  // they stay if they give the same scores twice, those of the plain network but for rounding, and
  // NaN of NaN.
  c10::IValue warm_up(const Tensors& inputs);
  c10::IValue run(const Tensors& inputs);

  // From now on the graph runs as it is.
  void use_plain();

  // What was done to the graph, or empty.
  std::string form() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Fused {
    torch::jit::Code code;
    std::string form;
  };

  static std::optional<Fused> fuse(const torch::jit::Module& module);
  torch::jit::Stack stack_of(const Tensors& inputs) const;
  // Empty, or why the fused graph is of no use.
  std::string reason_against_fused(const Tensors& inputs) const;

  Arguments arguments_;
  std::string name_;
  torch::jit::Module module_;
  torch::jit::Code plain_;
  std::optional<Fused> fused_;  // in the place of the plain one, if it is there
  bool is_settled_ = false;
  std::vector<std::string> notes_;
};

}  // namespace tally::model
