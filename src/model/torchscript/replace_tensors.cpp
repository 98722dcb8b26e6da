// SPDX-License-Identifier: Apache-2.0
#include "torchscript/replace_tensors.hpp"

#include <map>

#include <c10/core/InferenceMode.h>

namespace tally::model {
namespace {

using Change = std::function<at::Tensor(const at::Tensor&)>;

struct Replaced {
  at::Tensor original;  // kept alive, so that its address stays its own
  at::Tensor other;
};
using Replacements = std::map<const void*, Replaced>;

// Puts another tensor in the place of each that `change` changes; what several names share they
// share afterwards too.
void replace_tensors(torch::jit::Module module, const Change& change, Replacements& done) {
  const auto replace = [&](const std::string& name, const at::Tensor& tensor) {
    const auto* key = tensor.unsafeGetTensorImpl();
    auto found = done.find(key);
    // Tied weights are one tensor under two names, and have to stay one.
    if (found == done.end()) found = done.emplace(key, Replaced{tensor, change(tensor)}).first;
    const auto& other = found->second.other;
    if (!other.is_same(tensor)) module.setattr(name, other);
  };
  for (const auto& entry : module.named_parameters(/*recurse=*/false)) {
    replace(entry.name, entry.value);
  }
  for (const auto& entry : module.named_buffers(/*recurse=*/false)) {
    replace(entry.name, entry.value);
  }
  for (const auto& child : module.children()) replace_tensors(child, change, done);
}

}  // namespace

void replace_tensors(const torch::jit::Module& module, const Change& change) {
  const c10::InferenceMode guard;
  Replacements done;
  replace_tensors(module, change, done);
}

}  // namespace tally::model
