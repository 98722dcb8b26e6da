// SPDX-License-Identifier: Apache-2.0
// Operators of our own in LibTorch's registry: tally::max_pool2d and others.
#pragma once

#include <torch/library.h>

namespace tally::graph_optimizer {

// Where they are defined. They are known for as long as what this returns lives.
inline torch::Library own_operators() {
  return {torch::Library::FRAGMENT, "tally", std::nullopt, __FILE__, __LINE__};
}

}  // namespace tally::graph_optimizer
