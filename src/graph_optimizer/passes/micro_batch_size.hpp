// SPDX-License-Identifier: Apache-2.0
// How many samples a network runs best at a time, by what its layers read and write.
#pragma once

#include <cstdint>
#include <optional>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// For a graph that was profiled (profiled_graph.hpp) with `num_samples`. None where it has no
// layers (convolutions and products of matrices) whose sizes are known.
//
// Few samples keep what one layer hands to the next in the caches; but each piece reads all weights
// anew. So it is the number of samples whose activations outweigh the weights, of which those of 16
// bits count four times, and at least as many as make a layer's work worth its call.
std::optional<std::int64_t> micro_batch_size(torch::jit::Graph& profiled, std::int64_t num_samples);

}  // namespace tally::graph_optimizer
