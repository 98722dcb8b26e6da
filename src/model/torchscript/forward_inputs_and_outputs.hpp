// SPDX-License-Identifier: Apache-2.0
// How the forward() of a TorchScript takes its inputs and hands out its outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include "network.hpp"

namespace tally::model {

// Of a method, without self.
std::vector<std::string> argument_names(const c10::FunctionSchema& forward);

class Arguments {
 public:
  // One after the other.
  Arguments() = default;
  // `names`: of the inputs, by the model's card; empty without one. Where all of them are names of
  // arguments, each input goes to its own, and arguments without an input keep their default;
  // else they go one after the other. A forward() that takes one dict gets them under these names,
  // one that takes one tuple or list gets them in it. Error(model) naming `model` and the argument
  // that has neither an input nor a default.
  Arguments(const c10::FunctionSchema& forward, std::vector<std::string> names,
            std::string_view model);

  // inputs: as many as there were names, in their order.
  std::vector<c10::IValue> of(const Tensors& inputs) const;

 private:
  enum class Form { in_order, by_name, dict, tuple, list };
  // Of an argument: which input, or what else.
  using Filling = std::variant<std::size_t, c10::IValue>;

  void fill_by_name(const c10::FunctionSchema& forward, std::string_view model);

  Form form_ = Form::in_order;
  std::vector<std::string> names_;
  std::vector<Filling> fillings_;  // by_name
};

// What forward() of a module takes: the module, these inputs, and its defaults for the rest.
torch::jit::Stack stack_of(const torch::jit::Module& module, const Arguments& arguments,
                           const Tensors& inputs);

// The tensors in what forward() returned. `names`: of the outputs, by the card; empty without one.
// A dict is read by these names; of a tuple or list the first ones are taken, as many as there are
// names, or all. Error(model) if something else than tensors is there, or fewer than the names.
Tensors tensors_in(const c10::IValue& returned, std::span<const std::string> names,
                   std::string_view model);

}  // namespace tally::model
