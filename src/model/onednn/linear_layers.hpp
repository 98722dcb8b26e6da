// Linear layers of a frozen graph on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Whether a node is an aten::addmm that is one: a constant matrix of weights, and a constant bias
// for each column.
bool is_linear(const torch::jit::Node* node);

// Its weights as aten::linear has them, [out, in], without a copy.
at::Tensor linear_weight(const torch::jit::Node* addmm);

// Puts an aten::linear with these weights in its place.
void replace_by_linear(torch::jit::Graph& graph, torch::jit::Node* addmm, const at::Tensor& weight);

// Layers in float32 whose weights are constant, and large enough for it to pay, become products by
// oneDNN for any number of rows; returns how many. LibTorch's own are MKL's, which took twice as
// long on a processor of AMD (decision 40).
int use_onednn_linear(torch::jit::Graph& graph);

}  // namespace tally::model
