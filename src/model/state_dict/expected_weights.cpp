// SPDX-License-Identifier: Apache-2.0
#include <tally/model/expected_weights.hpp>

#include <nlohmann/json.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

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

}  // namespace tally::model
