// SPDX-License-Identifier: Apache-2.0
// Scores of sequences at some of their places. The last layer of a language model scores every
// token of the vocabulary (of GPT-2 77 of 247 million multiplications and additions a token); of
// places that are padding, or context for others, nobody reads the scores.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

namespace tally::graph_optimizer {

// Puts an operator of our own in the place of the linear layer whose result a frozen graph on the
// CPU returns; whether it returns one. Other graphs stay as they are.
bool score_at_places(torch::jit::Graph& graph);

// On this thread, as long as it lives, that operator computes the scores of the places that are
// true in `places` [rows, places], and leaves those of the others as the memory was. Undefined, or
// of another shape than the sequences that it is given: it computes all.
class ScoredPlaces {
 public:
  explicit ScoredPlaces(at::Tensor places);
  ~ScoredPlaces();
  ScoredPlaces(const ScoredPlaces&) = delete;
  ScoredPlaces& operator=(const ScoredPlaces&) = delete;
};

}  // namespace tally::graph_optimizer
