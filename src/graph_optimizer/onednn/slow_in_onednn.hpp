// SPDX-License-Identifier: Apache-2.0
// Operators that oneDNN computes more slowly than LibTorch does, most of them by its reference
// code, one number at a time. All functions are for nodes of a profiled graph (profiled_graph.hpp).
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {

// Whether one of these comes before `value`, and between them only what oneDNN may compute in one
// go with it, or in the same layout.
bool follows_on(const torch::jit::Value* value, Kinds kinds);

// Sums and products of floating-point tensors: if one is a slice or expanded, if one is
// channels-last and the other contiguous, or if both have five dimensions and other sizes; and
// those with a function of a slice, which cannot begin a pass. False where sizes are not known.
bool is_slow_arithmetic(const torch::jit::Node* arithmetic);

// Products of many small matrices, of matrices of which neither rows nor columns are contiguous,
// and of results of convolutions, which oneDNN lays out so (EfficientFormerV2's attention).
bool is_slow_product(const torch::jit::Node* product);

// Concatenations of tensors in one memory order, which oneDNN copies a few numbers at a time
// (GhostNet in bf16 713 images a second, and 827 where LibTorch concatenates), and of slices, which
// it copies first (MambaOut in bf16 53 and 64).
// Where some parts are channels-last and others contiguous, LibTorch's result would be contiguous,
// for the next layer to copy back. Where strides are not known, they count as contiguous.
bool is_slow_concatenation(const torch::jit::Node* concatenation);

// A softmax over rows that are not contiguous. oneDNN Graph takes a softmax only together with
// arithmetic after it, which is not looked for here. True also where sizes or strides are not
// known.
bool is_slow_softmax(const torch::jit::Node* softmax);

}  // namespace tally::graph_optimizer
