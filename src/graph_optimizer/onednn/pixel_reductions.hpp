// SPDX-License-Identifier: Apache-2.0
// Means and norms over all pixels of images, by LibTorch's average pools.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Of a profiled graph (profiled_graph.hpp) for images whose channels lie together in memory.
// LibTorch computes means in bf16 by a copy in float32, and norms one number at a time; its average
// pools read such images once, and add in float32, too. Means in bf16 (aten::mean and an adaptive
// pool of one pixel) get the same bits; squares in bf16 are rounded before they are added. Nothing
// in float16 is changed: oneDNN Graph, beside which this is done, takes none of it.
void reduce_pixels_by_pools(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
