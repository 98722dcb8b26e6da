// SPDX-License-Identifier: Apache-2.0
#include <tally/model/expected_weights.hpp>

#include <ATen/ops/empty.h>
#include <nlohmann/json.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/weights/element_type.hpp>

#include "state_dict/weight_loader.hpp"
#include "tensor_conversion.hpp"

namespace tally::model {
namespace {

using nlohmann::json;

ExpectedTensor parse_tensor(const json& entry) {
  ExpectedTensor tensor;
  tensor.name = entry.at("name").get<std::string>();
  if (entry.contains("same_as")) {
    tensor.same_as = entry.at("same_as").get<std::string>();
    return tensor;
  }
  tensor.dtype = entry.at("dtype").get<std::string>();
  tensor.shape = entry.at("shape").get<Shape>();
  // It throws where the sizes make no tensor.
  weights::count_elements(tensor.shape);
  return tensor;
}

}  // namespace

ExpectedWeights parse_expected_weights(std::string_view text, std::string_view where) {
  try {
    const auto root = json::parse(text);
    ExpectedWeights expected;
    expected.model = root.at("model").get<std::string>();
    for (const auto& entry : root.at("tensors")) expected.tensors.push_back(parse_tensor(entry));
    expected.fixed_buffers = root.at("fixed_buffers").get<std::vector<std::string>>();
    return expected;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::usage,
                format("{} is no list of a model's weights ({})", where, error.what()),
                "See docs/checkpoints.md for its form.");
  }
}

namespace {

// Of one element, which is all elements: nothing is put into it.
at::Tensor stand_in(const ExpectedTensor& tensor) {
  // Types that no checkpoint has need not be distinguished.
  const auto type = weights::element_named(tensor.dtype);
  const auto options = at::TensorOptions().dtype(type ? scalar_type(*type) : c10::kComplexFloat);
  return at::empty({}, options).expand(tensor.shape);
}

std::vector<NamedTensor> stand_ins(const ExpectedWeights& expected) {
  std::vector<NamedTensor> tensors;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& entry : expected.tensors) {
    const auto other = by_name.find(entry.same_as);
    if (!entry.same_as.empty() && other == by_name.end()) {
      throw Error(ErrorKind::usage,
                  printable(format("'{}' is said to be the same as '{}', which does "
                                   "not stand before it",
                                   entry.name, entry.same_as)));
    }
    tensors.push_back({entry.name, entry.same_as.empty() ? stand_in(entry) : other->second});
    by_name.emplace(entry.name, tensors.back().tensor);
  }
  return tensors;
}

}  // namespace

StateDictMatch fit_weights(const weights::Checkpoint& checkpoint,
                           const std::optional<ExpectedWeights>& expected,
                           std::string_view prefix) {
  if (!expected) return take_all(checkpoint, prefix);
  return WeightLoader(expected->model, stand_ins(*expected), expected->fixed_buffers)
      .match_state_dict(checkpoint, prefix);
}

}  // namespace tally::model
