// A frozen module on the CPU, whose graph is compiled for the batches that it is to run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <tally/model/predictor.hpp>

#include "arguments.hpp"
#include "network.hpp"
#include "profiled_graph.hpp"

namespace tally::model {

class CpuModule {
 public:
  // `name`: of the model, for notes.
  CpuModule(torch::jit::Module frozen, Arguments arguments, std::string name, CpuKernels kernels);

  // Compiles the graph for inputs of these shapes, if it was for others before: with convolutions
  // of our own and oneDNN Graph, or what of it this network takes. The bits of what follows depend
  // on the last call alone.
  c10::IValue rehearse(const Tensors& inputs);
  // The same for batches of `batch_size`, by three samples; the first of those batches then takes a
  // little longer.
  c10::IValue rehearse_few(const Tensors& inputs, std::int64_t batch_size);
  // Inputs of the shapes that were rehearsed last run what was compiled, others the graph as it is.
  // The first call compiles if nobody has rehearsed; afterwards several threads may run at once.
  c10::IValue run(const Tensors& inputs);
  // From now on the graph runs as it is.
  void run_plainly();

  // What was done to the graph: "Winograd F(2x2, 3x3), oneDNN Graph", or empty.
  const std::string& form() const { return form_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // What the graph is compiled for.
  struct Use {
    std::vector<std::vector<std::int64_t>> shapes;  // sizes and strides of the inputs
    int threads;                                    // that share an operation
    bool by_few;                                    // samples
    bool operator==(const Use&) const = default;
  };
  enum class Way { onednn_graph, onednn_without_products, own_alone };

  static Use use_of(const Tensors& inputs);
  torch::jit::Graph& graph() const { return *module_.get_method("forward").graph(); }
  torch::jit::Stack stack_of(const Tensors& inputs) const;
  c10::IValue run_compiled(const Tensors& inputs) const;
  // For inputs of these shapes, or for as many samples.
  void settle(const Tensors& inputs, std::optional<std::int64_t> batch_size);
  // Null where the graph can only run as it is.
  std::shared_ptr<torch::jit::Graph> profile(const Tensors& inputs);
  // The first way that this network takes, which is then compiled for `inputs`; none where its
  // graph is to run as it is.
  std::optional<Way> find_way(torch::jit::Graph& profiled, const Tensors& inputs);
  void compile(std::shared_ptr<torch::jit::Graph> profiled, Way way);
  void note(const char* what, const std::exception& reason);

  Arguments arguments_;
  std::string name_;
  CpuKernels kernels_;
  torch::jit::Module module_;
  torch::jit::Code plain_;
  std::unique_ptr<torch::jit::Code> compiled_;
  std::optional<Use> use_;  // that was rehearsed last
  std::string form_;
  std::vector<std::string> notes_;
};

}  // namespace tally::model
