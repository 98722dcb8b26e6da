// SPDX-License-Identifier: Apache-2.0
// Arithmetic on few numbers in the place of arithmetic on many.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// For a profiled graph (profiled_graph.hpp). Of a large tensor x and small ones a, b and c that are
// repeated along it, (x * a) * b becomes x * (a * b), also where b is a number, x + x * a becomes
// x * (a + 1), and x + (c + x * a) becomes x * (a + 1) + c: each step on x reads and writes all of
// it, and with wide networks that is memory, not a cache (ConvNeXt V2). Sums and products are
// rounded in another order.
void join_small_factors(torch::jit::Graph& graph);

}  // namespace tally::graph_optimizer
