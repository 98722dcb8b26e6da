// SPDX-License-Identifier: Apache-2.0
// A frozen graph with the dtype, sizes and strides of each tensor, as one run shows them; and how
// graphs are run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace tally::graph_optimizer {

struct Profile {
  std::shared_ptr<torch::jit::Graph> graph;  // a copy with types that hold for inputs of one shape
  c10::IValue scores;                        // of these inputs
  int num_dropped_copies = 0;                // that the graph lacks (copies_for_layout.hpp)
};

// Runs the graph once, without the copies that convolutions would undo, so that types and strides
// hold for a graph without them. `inputs`: all of the graph's, self among them. Throws what running
// it throws.
Profile profile_shapes(torch::jit::Graph& graph, torch::jit::Stack inputs);

// Of a tensor in a profiled graph; none where the run did not show them.
std::optional<std::vector<std::int64_t>> sizes_of(const torch::jit::Value* value);

// Of a tensor in any graph; none where it is not known, and for what is no tensor.
std::optional<at::ScalarType> type_of(const torch::jit::Value* value);

std::optional<std::vector<std::int64_t>> strides_of(const torch::jit::Value* value);

// Whether its numbers fill one stretch of memory once: it is neither a slice nor expanded. True
// also where that is not known.
bool is_dense(const torch::jit::Value* value);

// Runs the code of a graph. `inputs`: all of the graph's.
c10::IValue run_code(const torch::jit::Code& code, torch::jit::Stack inputs);

}  // namespace tally::graph_optimizer
