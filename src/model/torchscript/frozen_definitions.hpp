// SPDX-License-Identifier: Apache-2.0
// What LibTorch defines for a frozen copy of a module: its methods, in the compilation unit of the
// original, which would keep them as long as that lives (a watch freezes a copy per checkpoint).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <torch/csrc/jit/api/module.h>

namespace tally::model {

class FrozenDefinitions {
 public:
  // Freezes `module` into `frozen`; what it defines is removed with this object, after which
  // nothing runs `frozen` any more.
  FrozenDefinitions(const torch::jit::Module& module, torch::jit::Module& frozen);
  ~FrozenDefinitions();
  FrozenDefinitions(const FrozenDefinitions&) = delete;
  FrozenDefinitions& operator=(const FrozenDefinitions&) = delete;

 private:
  std::shared_ptr<torch::jit::CompilationUnit> unit_;
  std::vector<c10::QualifiedName> names_;
};

}  // namespace tally::model
