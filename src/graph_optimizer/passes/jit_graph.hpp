// SPDX-License-Identifier: Apache-2.0
// Answers what all passes that read or rewrite a TorchScript graph ask, and has the steps that they
// share.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Names of operators.
using Kinds = std::initializer_list<const char*>;
bool is_a(const torch::jit::Node* node, Kinds kinds);

// What takes most of a network's time.
inline constexpr Kinds kLayers{"aten::_convolution", "aten::_convolution_mode",
                               "aten::conv2d",       "aten::linear",
                               "aten::addmm",        "aten::mm",
                               "aten::matmul",       "aten::bmm"};

// All nodes, those of branches and loops too.
std::vector<torch::jit::Node*> all_nodes(torch::jit::Block* block);

// The constant value of input `name`; an IValue None if the input is no constant, or is None.
at::IValue constant(const torch::jit::Node* node, const char* name);

bool is_one(const at::IValue& factor);

// Whether those of an input that is a constant list of integers are all `number`.
bool is_all(const torch::jit::Node* node, const char* name, std::int64_t number);

// Whether it is a convolution in two dimensions, not a transposed one, of which weight and settings
// are constants.
bool is_known_convolution(const torch::jit::Node* node);

// The node that alone reads `value`, in the same block; null if there is no such.
torch::jit::Node* only_reader(const torch::jit::Value* value);

// Whether `is_found` holds for `value`, or for one that it comes from, each by the inputs that
// `inputs_of` gives.
using Inputs = c10::ArrayRef<const torch::jit::Value*>;
bool comes_from(const torch::jit::Value* value,
                const std::function<bool(const torch::jit::Value*)>& is_found,
                const std::function<Inputs(const torch::jit::Value*)>& inputs_of);

bool is_tensor(const torch::jit::Value* value);
bool is_none(const torch::jit::Value* value);
bool is_tensor_or_none(const torch::jit::Value* value);

// The bias of a convolution; a new constant where it has none.
torch::jit::Value* bias_or_zeros(torch::jit::Graph& graph, const torch::jit::Node* convolution,
                                 const at::Tensor& weight);

// Takes all nodes out of a graph, and with them its constants.
void destroy_nodes(torch::jit::Graph& graph);

// Inserts `made` at the graph's insert point, puts its outputs in the place of those of `last`, and
// destroys `last`. Both have the same number of outputs.
void replace(torch::jit::Graph& graph, torch::jit::Node* made, torch::jit::Node* last);

}  // namespace tally::graph_optimizer
