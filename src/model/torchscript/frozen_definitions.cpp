// SPDX-License-Identifier: Apache-2.0
#include "torchscript/frozen_definitions.hpp"

#include <torch/csrc/jit/passes/freeze_module.h>

namespace tally::model {

FrozenDefinitions::FrozenDefinitions(const torch::jit::Module& module, torch::jit::Module& frozen)
    : unit_(module._ivalue()->compilation_unit()) {
  const auto num_before = unit_->get_functions().size();
  frozen = torch::jit::freeze_module(module);
  const auto functions = unit_->get_functions();
  for (std::size_t i = num_before; i < functions.size(); ++i) {
    // Those that are gone leave their places empty.
    if (functions[i] != nullptr) names_.push_back(functions[i]->qualname());
  }
}

FrozenDefinitions::~FrozenDefinitions() {
  for (const auto& name : names_) {
    if (unit_->find_function(name) != nullptr) unit_->unsafeRemoveMethod(name);
  }
}

}  // namespace tally::model
