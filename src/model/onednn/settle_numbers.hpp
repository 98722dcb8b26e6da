// Arithmetic of a tensor and a number, as oneDNN Graph takes it.
#pragma once

#include <optional>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

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

}  // namespace tally::model
