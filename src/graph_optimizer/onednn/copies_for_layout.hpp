// SPDX-License-Identifier: Apache-2.0
// Copies that only change how a tensor lies in memory.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Takes contiguous() away where only convolutions with channels-last weights read the result, also
// by way of concatenations, of functions of single numbers and of other convolutions: they give
// channels-last results whatever they read, so the copy would be copied back (CSPResNet-50: a tenth
// of its time in bfloat16). No number changes. Returns how many are gone.
int drop_copies_before_convolutions(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
