#include "close_enough.hpp"

#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>

#include <tally/base/format.hpp>

namespace tally::model {
namespace {

bool is_wide(c10::ScalarType type) { return type == at::kFloat || type == at::kDouble; }

// The largest magnitude for each index of the last dimension, which may be scores of another kind:
// boxes in pixels beside probabilities. Not less than a share of the largest of all: rounding
// follows from what is summed up on the way.
at::Tensor largest_of_kind(const at::Tensor& magnitudes, c10::ScalarType type) {
  const double least = is_wide(type) ? 0.1 : 1;
  const auto rows = magnitudes.dim() < 2 ? magnitudes.reshape({-1, 1})
                                         : magnitudes.reshape({-1, magnitudes.size(-1)});
  return rows.amax(0).clamp_min(rows.max() * least);
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
  if (!at::isfinite(scores).equal(is_finite)) {
    throw std::runtime_error("other scores of it are finite");
  }
  const auto numbers = [&](const at::Tensor& of) {
    return of.to(at::kDouble).masked_fill(is_finite.logical_not(), 0);
  };
  const auto expected = numbers(plain);
  const auto largest = largest_of_kind(expected.abs(), plain.scalar_type());
  const auto error = (numbers(scores) - expected).abs().reshape({-1, largest.size(0)}).amax(0);
  const double share = is_wide(plain.scalar_type()) ? tolerance.of_float32 : tolerance.of_16_bits;
  const auto excess = error - largest * share;
  const auto worst = excess.argmax();
  if (excess[worst].item<double>() <= 0) return;
  throw std::runtime_error(format("its scores are off by {:.2g} of {:.2g}",
                                  error[worst].item<double>(), largest[worst].item<double>()));
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
