// Convolutions of a TorchScript graph on the CPU become those of oneDNN that write each result
// once.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// What they become; the sum writes over its other side, which is its first argument.
inline constexpr const char* kFused = "mkldnn::_convolution_pointwise";
inline constexpr const char* kFusedSum = "mkldnn::_convolution_pointwise_";
inline constexpr const char* kFusedRelu = "leaky_relu";  // what kFused calls it

// Sums are fused where both sides have one shape, which only a batch can show: a graph that fails
// on its first one is to be fused again without them.
enum class Sums { fused, left_alone };

// For a frozen graph on the CPU. Two-dimensional convolutions with constant weights take over what
// follows them: a ReLU, or the sum with a tensor that nothing else needs any more. Other graphs,
// types and LibTorchs stay as they are. How many operations were taken over.
//
// The fused ReLU has a slope of 1e-30 below zero: oneDNN's own turns NaN into 0, which would hide a
// network that has diverged. It is fused only where a bias follows on every way to the scores,
// beside which what is left below zero vanishes: scores of exactly 0 stay. oneDNN's keeps minus
// infinity, too (which is reported), where ReLU makes 0 of it.
int fuse_convolutions(torch::jit::Graph& graph, Sums sums);

// Whether the graph names those operators already, with settings of its own: it is to stay as it
// is.
bool is_fused(torch::jit::Graph& graph);

// For the same graph, afterwards. Convolutions that nothing was fused into, but that ours may take
// the place of (use_winograd.hpp, use_narrow.hpp), become kFused too: a run then shows what they
// are given, and their weights can be packed. How many.
int take_plain_convolutions(torch::jit::Graph& graph);

}  // namespace tally::model
