// Factors of one, with which oneDNN Graph takes operators that it would leave, or computes them by
// faster code. They change no number, NaN included.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// After a softmax, which LibTorch's fuser does not take alone: three times as fast as LibTorch's
// own for rows of 49 numbers of 16 bits (Swin).
void append_factor_of_one(torch::jit::Graph& graph, torch::jit::Node* softmax);

// Whether it is a function of single numbers, such as tanh.
bool is_function(const torch::jit::Node* node);

// Before functions with arithmetic after them that oneDNN cannot compute in the pass of what stands
// before them: it has only its reference code for functions that begin a pass (GPT-2's GELU in 16
// bits: a seventh of the speed).
void prepend_factors_of_one(torch::jit::Graph& graph);

}  // namespace tally::model
