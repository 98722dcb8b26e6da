// SPDX-License-Identifier: Apache-2.0
// Puts other tensors in the place of a module's parameters and buffers.
#pragma once

#include <functional>

#include <torch/csrc/jit/api/module.h>

namespace tally::model {

// Each tensor for which `change` returns another one is replaced, also in the module's children;
// what several names share they share afterwards too.
void replace_tensors(const torch::jit::Module& module,
                     const std::function<at::Tensor(const at::Tensor&)>& change);

}  // namespace tally::model
