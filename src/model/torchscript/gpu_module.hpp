// A frozen module on a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "network.hpp"
#include "torchscript/arguments.hpp"

namespace tally::model {

class GpuModule {
 public:
  // Changes the graph to what `device` needs (gpu_graph.hpp). `name`: of the model, for notes.
  // Networks that keep state may not be tried, and so not be fused.
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
