// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/jit/codegen/onednn/interface.h>

#include "onednn/onednn_fuser.hpp"

namespace tally::graph_optimizer {

bool has_onednn_fuser() { return true; }

void fuse_by_onednn(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::fuser::onednn::fuseGraph(graph);
}

}  // namespace tally::graph_optimizer
