// SPDX-License-Identifier: Apache-2.0
// A CpuModule is a frozen module on the CPU, whose graph is compiled for the batches that it is to
// run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <tally/graph_optimizer/optimized_graph.hpp>

#include "onednn/onednn_rewrites.hpp"
#include "onednn/profiled_graph.hpp"

namespace tally::graph_optimizer {

class CpuModule final : public OptimizedGraph {
 public:
  CpuModule(torch::jit::Module frozen, StackOf stack_of, std::string name,
            const CpuOptions& options);
  // LibTorch keeps the functions of a module as long as any that it was made from; their weights
  // are freed here.
  ~CpuModule() override;
  CpuModule(const CpuModule&) = delete;
  CpuModule& operator=(const CpuModule&) = delete;

  // Compiles the graph for inputs of these shapes, if it was for others before: with convolutions
  // and pools of our own, oneDNN Graph and oneDNN's linear layers, or what of it this network
  // takes. The bits of what follows depend on the last call alone.
  c10::IValue warm_up(const Tensors& inputs) override;
  std::optional<TriedGraph> try_samples(const Tensors& inputs) override;
  std::int64_t least_rows() const override;
  // Inputs of the shapes that the graph was last compiled for run the compiled graph. Others run
  // the graph as it is, and so do those with NaN, infinity or numbers above 10^4 if the compiled
  // graph might hide these; form() says so.
  // Texts of other lengths run the graph with linear layers by oneDNN (linear_layers.hpp). The
  // first call compiles the graph if warm_up() was not called; afterwards several threads may run
  // at once.
  c10::IValue run(const Tensors& inputs) override;
  // From now on the graph is compiled for these kernels.
  void use_kernels(CpuKernels kernels) override;
  std::vector<CpuKernels> other_kernels() const override;

  bool scores_at_places() const override { return scores_at_places_; }
  std::string form() const override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  // What the graph is compiled for.
  struct Use {
    std::vector<std::vector<std::int64_t>> shapes;  // sizes and strides of the inputs
    int threads;                                    // that share an operation
    bool operator==(const Use&) const = default;
  };
  using Way = std::optional<Hidden>;  // from oneDNN Graph; none: own kernels alone

  static Use use_of(const Tensors& inputs);
  torch::jit::Graph& graph() const { return *module_.get_method("forward").graph(); }
  torch::jit::Stack stack_of(const Tensors& inputs) const;
  c10::IValue run_compiled(const Tensors& inputs) const;
  // For inputs of these shapes.
  void settle(const Tensors& inputs);
  // Compiles the first way that this network takes; where there is none its graph runs as it is.
  void find_way(const Tensors& inputs);
  void prepare_for_texts(torch::jit::Stack probe, const c10::IValue& plain_scores);
  void forget_compiled();
  void compile(std::shared_ptr<torch::jit::Graph> profiled, Way way);
  void note(const char* what, const std::exception& reason);

  StackOf stack_of_;
  std::string name_;
  CpuKernels kernels_;
  torch::jit::Module module_;
  bool scores_at_places_;  // before the graph is copied
  torch::jit::Code plain_;
  std::unique_ptr<torch::jit::Code> compiled_;
  std::unique_ptr<torch::jit::Code> for_texts_;  // of any length
  std::optional<Use> use_;                       // what the graph was last compiled for
  bool has_partitions_ = false;                  // of oneDNN Graph
  bool hides_nan_ = false;  // compiled_, unless inputs are within bounds (value_bounds.hpp)
  std::string form_;
  std::vector<std::string> notes_;
};

}  // namespace tally::graph_optimizer
