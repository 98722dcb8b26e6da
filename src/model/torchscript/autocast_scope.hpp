// SPDX-License-Identifier: Apache-2.0
// Torch's autocast: operators that gain by it compute in 16 bits, the others in float32, as torch
// lists them for each kind of device.
#pragma once

#include <optional>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/api/module.h>

namespace tally::model {

// Traces name convolutions by an operator that torch's list for CPUs lacks: puts those in their
// place that Python calls. In all methods of the module and of its children.
void name_convolutions(const torch::jit::Module& module);

// While it lives, what this thread lets torch do on that kind of device is autocast to `type`, as
// under torch.autocast(); none: nothing changes. TorchScript's own pass is left out, so that
// operators are cast by the same list as in Python.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, std::optional<c10::ScalarType> type);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool is_on_;
  bool was_enabled_ = false;
  c10::ScalarType earlier_type_ = c10::ScalarType::Undefined;
};

}  // namespace tally::model
