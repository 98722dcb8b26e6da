// Convolutions whose padding is a word.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Turns the padding of convolutions of images with padding='same' or 'valid' into numbers, as
// passes over graphs expect it, where it is the same on both sides and the weights are constant.
// All others become aten::_convolution_mode, which no pass takes for a convolution with numbers.
void spell_out_paddings(torch::jit::Graph& graph);

}  // namespace tally::model
