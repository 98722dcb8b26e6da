// Factors of one, with which oneDNN Graph takes operators that it would leave, or computes them by
// faster code. They change no number, NaN included.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

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

}  // namespace tally::model
