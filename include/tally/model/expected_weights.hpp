// SPDX-License-Identifier: Apache-2.0
// ExpectedWeights lists the weights that a model takes, where the model itself is not there: for
// data_tools/export_model.py, which makes the model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/tensor_view.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/weights/checkpoint.hpp>

namespace tally::model {

struct ExpectedTensor {
  std::string name;
  std::string dtype;  // "float32"
  Shape shape;
  std::string same_as;  // the tensor before it that this is another name of; else empty
};

struct ExpectedWeights {
  std::string model;  // its name, for messages
  std::vector<ExpectedTensor> tensors;
  std::vector<std::string> fixed_buffers;  // names that no checkpoint need hold
};

// Of JSON: {"model": "net", "fixed_buffers": [], "tensors": [
//   {"name": "fc.weight", "dtype": "float32", "shape": [10, 8]},
//   {"name": "head.weight", "same_as": "fc.weight"}]}
// Error(usage) naming `where` if it has another form.
ExpectedWeights parse_expected_weights(std::string_view json, std::string_view where);

// As LoadedModel::match_state_dict() has it of a model with these weights and of the option
// --weights-prefix. Without `expected` all tensors are taken, or those under `prefix`.
StateDictMatch fit_weights(const weights::Checkpoint& checkpoint,
                           const std::optional<ExpectedWeights>& expected, std::string_view prefix);

}  // namespace tally::model
