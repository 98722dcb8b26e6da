// LibTorch's pass that hands a graph to oneDNN Graph. Its builds for other processors than x86-64
// have none.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

bool has_onednn_fuser();

// For a profiled graph (profiled_graph.hpp), which it rewrites: partitions, each beside what runs
// where its inputs have other shapes. Throws what the pass throws where it fails on a graph.
void fuse_by_onednn(std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace tally::model
