// SPDX-License-Identifier: Apache-2.0
// Finds what a frozen TorchScript graph does beside computing scores.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace tally::model {

// Whether a run leaves traces that another one finds, attributes that forward() writes or numbers
// drawn from a generator: such runs must come one after the other.
bool keeps_state(const torch::jit::Graph& graph);

// Whether a run may change what is in the tensors that it is given.
bool writes_over_inputs(torch::jit::Graph& graph);

// What torch.jit.fork runs: no block of the node, but a graph of its own; null for other nodes.
const torch::jit::Graph* forked_graph(const torch::jit::Node* node);

}  // namespace tally::model
