#include "close_enough.hpp"

#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>

#include <tally/base/format.hpp>

namespace tally::model {
namespace {

double largest_share(c10::ScalarType type, Tolerance tolerance) {
  const bool is_wide = type == at::kFloat || type == at::kDouble;
  return is_wide ? tolerance.of_float32 : tolerance.of_16_bits;
}

void check_whole_numbers(const at::Tensor& scores, const at::Tensor& plain) {
  constexpr double kLargestShare = 0.01;
  const auto num_other = scores.ne(plain).sum().item<std::int64_t>();
  if (static_cast<double>(num_other) <= kLargestShare * static_cast<double>(plain.numel())) return;
  throw std::runtime_error(format("{} of its {} whole numbers differ", num_other, plain.numel()));
}

void check(const at::Tensor& scores, const at::Tensor& plain, Tolerance tolerance) {
  if (scores.sizes() != plain.sizes() || scores.scalar_type() != plain.scalar_type()) {
    throw std::runtime_error("its scores have another shape or type");
  }
  if (plain.numel() == 0) return;
  if (!plain.is_floating_point()) return check_whole_numbers(scores, plain);
  const auto is_finite = at::isfinite(plain);
  const auto found = scores.to(at::kDouble).masked_select(is_finite);
  if (!at::isfinite(scores).equal(is_finite)) {
    throw std::runtime_error("other scores of it are finite");
  }
  if (found.numel() == 0) return;
  const auto expected = plain.to(at::kDouble).masked_select(is_finite);
  const auto error = (found - expected).abs().max().item<double>();
  const auto largest = expected.abs().max().item<double>();
  if (error <= largest_share(plain.scalar_type(), tolerance) * largest) return;
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

void check_close_enough(const c10::IValue& scores, const c10::IValue& plain, Tolerance tolerance) {
  std::vector<at::Tensor> found;
  std::vector<at::Tensor> expected;
  collect(scores, found);
  collect(plain, expected);
  if (found.size() != expected.size()) throw std::runtime_error("it returns something else");
  for (std::size_t i = 0; i < found.size(); ++i) check(found[i], expected[i], tolerance);
}

}  // namespace tally::model
