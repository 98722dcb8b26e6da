// SPDX-License-Identifier: Apache-2.0
// Which operators of a TorchScript graph belong to training, and whether its results repeat.
#pragma once

#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <tally/model/card.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {

// What is to be done with a model in which operators of training are active.
enum class TrainingMode { refused, allowed };

// Of a graph that was inlined and whose attributes are constants (a frozen module's, before its
// numerics are optimised: folding a batch normalisation would hide its mode).
struct GraphAnalysis {
  std::vector<TrainingOperator> training;  // in the order of the graph, each place once
  Determinism determinism;
};
GraphAnalysis analyse(const torch::jit::Graph& graph);

// Whether the operator is one of those that draw random numbers, and is not known to be switched
// off. LibTorch's own question, Node::isNondeterministic, takes dropout_ for active in evaluation
// mode, too.
bool may_draw_numbers(const torch::jit::Node* node);

}  // namespace tally::model
