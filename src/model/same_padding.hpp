// Convolutions whose padding is a word.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Turns the padding of conv2d(padding='same' | 'valid') into numbers, as passes over graphs expect
// it, where it is the same on both sides and the weights are constant.
void spell_out_paddings(torch::jit::Graph& graph);

}  // namespace tally::model
