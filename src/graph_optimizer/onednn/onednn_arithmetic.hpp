// SPDX-License-Identifier: Apache-2.0
// Arithmetic as oneDNN Graph takes it: numbers made tensors, and factors of one, with which it
// takes operators that it would leave.
#pragma once

#include <optional>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Factors of one, with which oneDNN Graph takes operators that it would leave, or computes them by
// faster code. They change no number, NaN included.

// At the graph's insert point. Null where type or sizes are not known, and for tensors without
// dimensions, which would get one.
torch::jit::Value* insert_product_with_one(torch::jit::Graph& graph, torch::jit::Value* value);

// Multiplies the result of a softmax by one: LibTorch's fuser takes no softmax alone. For rows of
// 49 numbers of 16 bits (Swin) oneDNN's is three times as fast as LibTorch's.
void append_factor_of_one(torch::jit::Graph& graph, torch::jit::Node* softmax);

// Whether it is a function of single numbers that oneDNN has, such as tanh.
bool is_function(const torch::jit::Node* node);

// Multiplies the input of a function by one where arithmetic follows the function and nothing that
// oneDNN computes in the same pass stands before it. oneDNN computes a pass that begins with a
// function by its reference code (GPT-2's GELU in 16 bits: a seventh of the speed).
void prepend_factors_of_one(torch::jit::Graph& graph);

// A constant that a tensor is added to, multiplied with or divided by: a scalar, or, as traced ones
// are, a floating-point tensor without dimensions. None for anything else.
std::optional<double> constant_number(const torch::jit::Value* value);

// Also a number that is computed, and a tensor without dimensions.
bool is_number(const torch::jit::Value* value);

// Of a sum, product or quotient in a profiled graph (profiled_graph.hpp): the fuser makes of a
// number a tensor of one element and of the result's type, and so do we. Returns false where that
// would round the number to 16 bits, or give a result with a dimension more: such arithmetic stays
// with LibTorch, which computes with all digits. In bfloat16 a product that follows on a ReLU or a
// sum becomes two products with numbers instead, which oneDNN computes in float32 in the same pass.
bool settle_numbers(torch::jit::Graph& graph, torch::jit::Node* node);

}  // namespace tally::graph_optimizer
