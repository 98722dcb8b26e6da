// SPDX-License-Identifier: Apache-2.0
#include "torchscript/autocast_scope.hpp"

#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/passes/autocast.h>
#include <torch/csrc/jit/passes/graph_rewrite_helper.h>

namespace tally::model {

void name_convolutions(const torch::jit::Module& module) {
  for (const auto& one : module.modules()) {
    for (const auto& method : one.get_methods()) {
      auto graph = method.graph();
      torch::jit::graph_rewrite_helper::replaceConvolutionWithAtenConv(graph);
    }
  }
}

AutocastScope::AutocastScope(c10::DeviceType device, std::optional<c10::ScalarType> type)
    : device_(device), is_on_(type.has_value()) {
  if (!is_on_) return;
  torch::jit::setAutocastMode(false);
  was_enabled_ = at::autocast::is_autocast_enabled(device);
  earlier_type_ = at::autocast::get_autocast_dtype(device);
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, *type);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!is_on_) return;
  // As Python does at the end of the outermost scope: copies of weights are not kept beyond it.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, earlier_type_);
}

}  // namespace tally::model
