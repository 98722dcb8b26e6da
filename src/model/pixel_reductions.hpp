// Means and norms over all pixels of images, by LibTorch's average pools.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Of a profiled graph (profiled_graph.hpp) for images whose channels lie together in memory.
// LibTorch computes means of 16 bits by a copy in float32, and norms one number at a time; its
// average pools read such images once, and add in float32, too. Means of 16 bits (aten::mean and an
// adaptive pool of one pixel) get the same bits; squares of 16 bits are rounded before they are
// added.
void reduce_pixels_by_pools(torch::jit::Graph& graph);

}  // namespace tally::model
