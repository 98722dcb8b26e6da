// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "onednn/onednn_fuser.hpp"

namespace tally::graph_optimizer {

bool has_onednn_fuser() { return false; }

void fuse_by_onednn(std::shared_ptr<torch::jit::Graph>& /*graph*/) {
  throw std::logic_error("LibTorch's oneDNN fuser is for x86-64");
}

}  // namespace tally::graph_optimizer
