// A frozen graph on the CPU with the dtype, sizes and strides of each tensor, as one run shows
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace tally::model {

// A copy with types that hold for inputs of one shape, which it runs once. `inputs`: all of the
// graph's, self among them. Throws what running it throws.
std::shared_ptr<torch::jit::Graph> profile_shapes(torch::jit::Graph& graph,
                                                  torch::jit::Stack inputs);

// The same graph for `batch_size` samples, by those of two profiles for 2 and 3: sizes and strides
// grow with the number of samples by the same step. std::runtime_error where one visibly does not.
std::shared_ptr<torch::jit::Graph> extrapolate(torch::jit::Graph& of_two,
                                               torch::jit::Graph& of_three,
                                               std::int64_t batch_size);

// Of a tensor in a profiled graph; none where the run did not show them.
std::optional<std::vector<std::int64_t>> sizes_of(const torch::jit::Value* value);

// Runs the code of a graph. `inputs`: all of the graph's.
c10::IValue run_code(const torch::jit::Code& code, torch::jit::Stack inputs);

}  // namespace tally::model
