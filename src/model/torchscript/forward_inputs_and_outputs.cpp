// SPDX-License-Identifier: Apache-2.0
#include "torchscript/forward_inputs_and_outputs.hpp"

#include <algorithm>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::model {
namespace {

constexpr const char* kSeeCards = "See docs/model-card.md on inputs and outputs.";

// Of a method: without self.
std::span<const c10::Argument> arguments_of(const c10::FunctionSchema& forward) {
  return std::span(forward.arguments()).subspan(1);
}

bool is_argument(const c10::FunctionSchema& forward, const std::string& name) {
  const auto arguments = arguments_of(forward);
  return std::ranges::any_of(arguments, [&](const auto& one) { return one.name() == name; });
}

std::string kind_name(const c10::IValue& value) {
  return value.isNone() ? "None" : value.type()->annotation_str();
}

Error wrong_return(const c10::IValue& value, const std::string& expected, std::string_view model) {
  return {ErrorKind::model,
          format("model '{}' returned {}, expected {}", model, kind_name(value), expected),
          kSeeCards};
}

// A tuple or list of one tensor is taken for the tensor.
at::Tensor tensor_in(const c10::IValue& value, std::string_view model) {
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple() && value.toTupleRef().elements().size() == 1) {
    return tensor_in(value.toTupleRef().elements()[0], model);
  }
  if (value.isList() && value.toListRef().size() == 1) {
    return tensor_in(value.toListRef()[0], model);
  }
  throw wrong_return(value, "a tensor", model);
}

Tensors tensors_in_dict(const c10::IValue& dict, std::span<const std::string> names,
                        std::string_view model) {
  // Which of its entries are the scores is not known without names.
  if (names.empty()) throw wrong_return(dict, "tensors, or a card that names its outputs", model);
  const auto values = dict.toGenericDict();
  Tensors tensors;
  for (const auto& name : names) {
    if (!values.contains(name)) {
      throw Error(ErrorKind::model,
                  format("model '{}' returned a dict without the output '{}' that its card names",
                         model, name),
                  kSeeCards);
    }
    tensors.push_back(tensor_in(values.at(name), model));
  }
  return tensors;
}

Tensors tensors_in_list(const c10::IValue& returned, at::ArrayRef<c10::IValue> values,
                        std::size_t count, std::string_view model) {
  // Networks return more than their scores, as hidden states, which a card leaves out at the end.
  const std::size_t wanted = count == 0 ? values.size() : count;
  if (values.empty() || values.size() < wanted) {
    throw wrong_return(returned, format("{} tensors", std::max<std::size_t>(wanted, 1)), model);
  }
  Tensors tensors;
  for (std::size_t i = 0; i < wanted; ++i) tensors.push_back(tensor_in(values[i], model));
  return tensors;
}

}  // namespace

std::vector<std::string> argument_names(const c10::FunctionSchema& forward) {
  std::vector<std::string> names;
  for (const auto& argument : arguments_of(forward)) names.push_back(argument.name());
  return names;
}

Arguments::Arguments(const c10::FunctionSchema& forward, std::vector<std::string> names,
                     std::string_view model)
    : names_(std::move(names)) {
  const auto arguments = arguments_of(forward);
  const auto is_own = [&](const auto& name) { return is_argument(forward, name); };
  // One name that the source does not have shows that the card has names of its own.
  if (!names_.empty() && std::ranges::all_of(names_, is_own)) {
    form_ = Form::by_name;
    fill_by_name(forward, model);
    return;
  }
  // Only an argument that stands alone can be a container of all inputs.
  if (arguments.size() != 1) return;
  const auto kind = arguments.front().type()->kind();
  if (kind == c10::TypeKind::TupleType) form_ = Form::tuple;
  if (kind == c10::TypeKind::ListType) form_ = Form::list;
  if (kind != c10::TypeKind::DictType) return;
  form_ = Form::dict;
  if (!names_.empty()) return;
  throw Error(ErrorKind::model,
              format("model '{}' takes a dict, and no card names its inputs", model), kSeeCards);
}

// Positions and defaults are settled here, once, and not for each batch.
void Arguments::fill_by_name(const c10::FunctionSchema& forward, std::string_view model) {
  for (const auto& argument : arguments_of(forward)) {
    const auto found = std::ranges::find(names_, argument.name());
    if (found != names_.end()) {
      fillings_.emplace_back(static_cast<std::size_t>(found - names_.begin()));
    } else if (argument.default_value()) {
      fillings_.emplace_back(*argument.default_value());
    } else {
      throw Error(ErrorKind::model,
                  format("model '{}' takes an input '{}', which its card does not name", model,
                         argument.name()),
                  kSeeCards);
    }
  }
}

std::vector<c10::IValue> Arguments::of(const Tensors& inputs) const {
  if (form_ == Form::list) return {c10::IValue(c10::List<at::Tensor>(inputs))};
  if (form_ == Form::tuple) {
    return {c10::ivalue::Tuple::create(std::vector<c10::IValue>(inputs.begin(), inputs.end()))};
  }
  if (form_ == Form::dict) {
    c10::Dict<std::string, at::Tensor> dict;
    for (std::size_t i = 0; i < inputs.size(); ++i) dict.insert(names_.at(i), inputs[i]);
    return {c10::IValue(dict)};
  }
  // Without names the inputs are those of forward(), in its order.
  if (form_ == Form::in_order) return {inputs.begin(), inputs.end()};
  std::vector<c10::IValue> values;
  for (const auto& filling : fillings_) {
    const auto* input = std::get_if<std::size_t>(&filling);
    values.push_back(input != nullptr ? c10::IValue(inputs.at(*input))
                                      : std::get<c10::IValue>(filling));
  }
  return values;
}

torch::jit::Stack stack_of(const torch::jit::Module& module, const Arguments& arguments,
                           const Tensors& inputs) {
  torch::jit::Stack stack{module._ivalue()};
  for (auto& argument : arguments.of(inputs)) stack.push_back(std::move(argument));
  // This fills in the defaults, and throws where a type does not fit.
  module.get_method("forward").function().getSchema().checkAndNormalizeInputs(stack);
  return stack;
}

Tensors tensors_in(const c10::IValue& returned, std::span<const std::string> names,
                   std::string_view model) {
  if (returned.isGenericDict()) return tensors_in_dict(returned, names, model);
  if (returned.isTuple()) {
    return tensors_in_list(returned, returned.toTupleRef().elements(), names.size(), model);
  }
  if (returned.isList()) {
    const auto values = returned.toListRef();
    return tensors_in_list(returned, values, names.size(), model);
  }
  if (!returned.isTensor()) throw wrong_return(returned, "tensors", model);
  if (names.size() > 1) {
    throw wrong_return(returned, format("the {} outputs of its card", names.size()), model);
  }
  return {returned.toTensor()};
}

}  // namespace tally::model
