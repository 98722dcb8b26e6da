// A frozen module on the CPU, whose graph is rewritten for the batches that it is to run.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "arguments.hpp"
#include "fuse_convolutions.hpp"
#include "network.hpp"

namespace tally::model {

class FusedModule {
 public:
  // `name`: of the model, for notes.
  FusedModule(torch::jit::Module frozen, Arguments arguments, std::string name);

  // Rewrites the graph for inputs of these shapes, if it was for others before. The bits of what
  // follows depend on the last call alone.
  c10::IValue rehearse(const Tensors& inputs);
  // The same for batches of `batch_size`, by the few samples of `inputs`.
  c10::IValue rehearse_few(const Tensors& inputs, std::int64_t batch_size);
  // The first call settles the form: it rewrites the graph if nobody has rehearsed. What was there
  // before goes then. After a rehearsal several threads may run at once.
  c10::IValue run(const Tensors& inputs);

  // What was done to the graph: "convolutions fused, weights packed", or empty.
  const std::string& form() const { return form_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // What weights are packed for.
  struct Use {
    std::vector<std::vector<std::int64_t>> shapes;  // of the inputs
    int threads;                                    // that share an operation
    bool operator==(const Use&) const = default;
  };

  static Use use_of(const Tensors& inputs, std::int64_t batch_size);
  torch::jit::Graph& graph() const { return *module_.get_method("forward").graph(); }
  c10::IValue forward(const Tensors& inputs);
  void rewrite(Sums sums);
  // For batches of `batch_size`, by those inputs.
  c10::IValue rewrite_and_run(const Tensors& inputs, std::int64_t batch_size, Sums sums);
  c10::IValue rewrite_as_far_as_possible(const Tensors& inputs, std::int64_t batch_size);
  c10::IValue settle(const Tensors& inputs, std::int64_t batch_size);

  Arguments arguments_;
  std::string name_;
  std::mutex plain_goes_;
  std::optional<torch::jit::Module> plain_;
  torch::jit::Module module_;
  std::optional<Use> use_;  // that the graph was rewritten for
  int num_fused_ = 0;       // operations that convolutions took over
  int num_taken_ = 0;       // convolutions without any
  std::string form_;
  std::vector<std::string> notes_;
};

}  // namespace tally::model
