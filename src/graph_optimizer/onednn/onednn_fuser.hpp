// SPDX-License-Identifier: Apache-2.0
// LibTorch's pass that hands a graph to oneDNN Graph, and what is put right in the graph after it,
// before it runs. LibTorch's builds for other processors than x86-64 have no such pass.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

bool has_onednn_fuser();

// For a profiled graph (profiled_graph.hpp), which it rewrites: partitions, each beside what runs
// where its inputs have other shapes. Throws what the pass throws where it fails on a graph.
void fuse_by_onednn(std::shared_ptr<torch::jit::Graph>& graph);

// A partition may write its result over an input in oneDNN's own layout, and LibTorch 2.11 does not
// ask whether that input is read again: a residual stream that is also concatenated in the end came
// out wrong by its own size. Here such inputs get the layout of the profiled graph instead, which
// no partition writes over.
void protect_reused_inputs(torch::jit::Graph& graph);

// LibTorch 2.11 takes the place of an input among those that oneDNN reads, in which one that is
// read twice stands twice, for its place in the list of inputs, and reads beyond that list: a
// crash. With such an input at the end of the list both are the same. Throws where a partition has
// two of them.
void put_inputs_read_twice_last(torch::jit::Graph& graph);

// Puts what runs in place of a partition, where its inputs have other shapes than the profiled
// ones, into the graph itself: the executor that would prepare it is not used here.
void inline_fallbacks(torch::jit::Graph& graph);

// The number of partitions.
int count_partitions(torch::jit::Graph& graph);

// Whether a partition computes a clamp, which hides NaN.
bool has_fused_clamps(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
