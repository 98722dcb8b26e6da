// SPDX-License-Identifier: Apache-2.0
// A small network whose profiled graph is rewritten, beside what it was before.
#pragma once

#include <functional>
#include <string>

#include <torch/csrc/jit/ir/ir.h>

#include "onednn/profiled_graph.hpp"
#include "onednn_graph_fixture.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {

class RewrittenNet {
 public:
  // `x` is the one input of `forward`.
  RewrittenNet(const NamedWeights& weights, const std::string& forward, const at::Tensor& x,
               const std::function<void(torch::jit::Graph&)>& rewrite)
      : net_(frozen_net(weights, forward)),
        profile_(profile_shapes(*net_.get_method("forward").graph(), {net_._ivalue(), x})) {
    rewrite(*profile_.graph);
  }

  torch::jit::Graph& graph() const { return *profile_.graph; }
  at::Tensor operator()(const at::Tensor& x) const {
    const torch::jit::Code code(profile_.graph, "forward");
    return run_code(code, {net_._ivalue(), x}).toTensor();
  }
  at::Tensor plain(const at::Tensor& x) const { return plain_scores(net_, x); }

 private:
  torch::jit::Module net_;
  Profile profile_;
};

}  // namespace tally::graph_optimizer
