// Networks in which the shape of a tensor depends on the numbers in others.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Whether the result of an operator of a profiled graph (profiled_graph.hpp) has a shape, or is a
// number that others may make a shape of, that depends on what is in the network's inputs, not on
// their shapes alone; or whether it has branches. What was compiled for the shapes of one batch
// would be wrong for the next.
bool has_varying_shapes(torch::jit::Graph& graph);

}  // namespace tally::model
