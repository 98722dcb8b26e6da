// SPDX-License-Identifier: Apache-2.0
// Linear layers of a frozen graph on the CPU: computed by oneDNN, and split where their result is
// taken apart at once.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Whether a node is an aten::addmm that is one: a constant matrix of weights, and a constant bias
// for each column.
bool is_linear(const torch::jit::Node* node);

// Its weights as aten::linear has them, [out, in], without a copy.
at::Tensor linear_weight(const torch::jit::Node* addmm);

// Puts an aten::linear with these weights in its place.
void replace_by_linear(torch::jit::Graph& graph, torch::jit::Node* addmm, const at::Tensor& weight);

// aten::linear, in float32 by oneDNN.
at::Tensor linear_by_onednn(const at::Tensor& input, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias);

// Layers in float32 whose weights are constant, and large enough for it to pay, become products by
// oneDNN for any number of rows; returns how many. LibTorch's own are MKL's, which took twice as
// long on a processor of AMD (decision 40).
int use_onednn_linear(torch::jit::Graph& graph);

// Gated layers are often one linear layer that gives several results side by side, of which one
// goes through a function (GELU, sigmoid): oneDNN computes a function in the same pass as the layer
// before it, but not of a slice. In 16 bits such a layer becomes one for each part (MambaOut in
// bf16, 2 x 1: 69 images a second instead of 64; in float32 36 instead of 38, where layers stay as
// they are), in a frozen graph whose sizes are not known yet. Returns how many layers were split.
// Each number is the same sum as before, for which kernels may choose another order.
int split_linear_layers(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
