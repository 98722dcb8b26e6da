// SPDX-License-Identifier: Apache-2.0
// For GPUs: convolutions that add their bias and another tensor, and apply a ReLU, by themselves.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// LibTorch runs a kernel for the convolution and one for each of bias, sum and ReLU after it, and
// each of these reads and writes the whole result. Replaces such chains of a frozen graph, where
// nothing else reads what lies between, by one call of cuDNN. Returns how many convolutions.
// Results are rounded once instead of after each step. On CPUs, and for what cuDNN does not take,
// the new operator computes what the chain did: in the same bits, but for biases that two
// convolutions share, which are added first.
int fuse_convolutions(torch::jit::Graph& graph);

// std::runtime_error with one line where a fused convolution of NaN gives numbers, or one of
// numbers NaN. On a GPU the memory that it leaves to later tensors holds NaN.
void check_keeps_nan(c10::Device device, c10::ScalarType type);

}  // namespace tally::graph_optimizer
