// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <ATen/ops/empty.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/model/expected_weights.hpp>
#include <tally/weights/element_type.hpp>

#include "state_dict/weight_loader.hpp"
#include "tensor_conversion.hpp"

namespace tally::model {
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
