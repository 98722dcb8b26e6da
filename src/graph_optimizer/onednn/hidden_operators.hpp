// SPDX-License-Identifier: Apache-2.0
// Operators that LibTorch's oneDNN fuser must not see, under names of our own, and those that it
// wants to see before sums and products.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "onednn/onednn_rewrites.hpp"

namespace tally::graph_optimizer {

// (Tensor self) -> Tensor: aten::exp. oneDNN's makes infinity of NaN.
inline constexpr const char* kExp = "tally::exp";

// aten::add of tensors, and of a tensor and a number.
inline constexpr const char* kAdd = "tally::add";
// aten::avg_pool2d, arguments and all. oneDNN's takes ten times as long where it
// reads a slice of channels.
inline constexpr const char* kAveragePool = "tally::avg_pool2d";
// aten::gelu and aten::elu, arguments and all. The fuser takes every GELU for the exact one, and
// forgets an ELU's two scales.
inline constexpr const char* kGelu = "tally::gelu";
inline constexpr const char* kElu = "tally::elu";
// aten::max_pool2d_with_indices, arguments and all. oneDNN's has no indices.
inline constexpr const char* kMaxPoolWithIndices = "tally::max_pool2d_with_indices";

// aten::round with a number of decimals, which the fuser forgets.
inline constexpr const char* kRound = "tally::round";

// (Tensor(a) self, Tensor, Tensor) -> Tensor(a): `self`. See give_sources().
inline constexpr const char* kSame = "tally::same";

// Makes them known, until the process ends.
void register_hidden_operators();

// oneDNN's pattern matcher looks up the first inputs of what gives a sum or a product its tensors,
// and ends with std::out_of_range where there are none: constants, and elements of lists. Such
// tensors pass through an operator with inputs, kSame.
//
// In 16 bits only beside hidden products: oneDNN's kernel for attention takes one window after the
// other, which is slower than LibTorch's products where windows are small.
void give_sources(torch::jit::Graph& graph, Hidden hidden);

}  // namespace tally::graph_optimizer
