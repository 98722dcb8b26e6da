#include "close_enough.hpp"

#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>

#include <tally/base/format.hpp>

namespace tally::model {
namespace {

// Of the largest score. What they are to catch is wrong by about that score itself.
double tolerance(c10::ScalarType type) {
  return type == at::kFloat || type == at::kDouble ? 1e-3 : 0.1;
}

void check(const at::Tensor& scores, const at::Tensor& plain) {
  if (!plain.is_floating_point() || plain.numel() == 0) return;
  if (scores.sizes() != plain.sizes() || scores.scalar_type() != plain.scalar_type()) {
    throw std::runtime_error("its scores have another shape or type");
  }
  const auto is_finite = at::isfinite(plain);
  const auto found = scores.to(at::kDouble).masked_select(is_finite);
  if (!at::isfinite(scores).equal(is_finite)) {
    throw std::runtime_error("other scores of it are finite");
  }
  if (found.numel() == 0) return;
  const auto expected = plain.to(at::kDouble).masked_select(is_finite);
  const auto error = (found - expected).abs().max().item<double>();
  const auto largest = expected.abs().max().item<double>();
  if (error <= tolerance(plain.scalar_type()) * largest) return;
  throw std::runtime_error(format("its scores are off by {:.2g} of {:.2g}", error, largest));
}

void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) collect(element, tensors);
  } else if (value.isList()) {
    for (const auto& element : value.toListRef()) collect(element, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) collect(entry.value(), tensors);
  }
}

}  // namespace

void check_close_enough(const c10::IValue& scores, const c10::IValue& plain) {
  std::vector<at::Tensor> found;
  std::vector<at::Tensor> expected;
  collect(scores, found);
  collect(plain, expected);
  if (found.size() != expected.size()) throw std::runtime_error("it returns something else");
  for (std::size_t i = 0; i < found.size(); ++i) check(found[i], expected[i]);
}

}  // namespace tally::model
