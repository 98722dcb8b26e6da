// SPDX-License-Identifier: Apache-2.0
#include <tally/libtorch/equivalence_check.hpp>

#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/isfinite.h>

#include <tally/base/format.hpp>

namespace tally::libtorch {
namespace {

// Of three samples none has the mean, the least or the largest number of another.
at::Tensor fractions(const at::Tensor& input) {
  constexpr double kGoldenSection = 0.6180339887498949;
  const auto steps = at::arange(input.numel(), at::kDouble).mul_(kGoldenSection);
  auto numbers = steps.sub_(steps.floor()).mul_(4).sub_(2).reshape(input.sizes());
  for (std::int64_t row = 0; row < input.size(0); ++row) {
    const auto kind = static_cast<double>(row % 3);
    numbers.select(0, row).div_(1 + kind).add_(kind / 4);
  }
  return numbers;
}

// Of sample i every (i + 2)th number is 1, from the first on, so that samples hold other shares of
// it. Where there are few numbers, they are a 1 and the digits of 3 - i; single ones alternate from
// sample to sample.
at::Tensor bits(const at::Tensor& input) {
  const auto rows = input.size(0);
  const auto row = at::arange(rows, at::kLong).reshape({rows, 1});
  const auto columns = rows == 0 ? 0 : input.numel() / rows;
  if (columns <= 1) return (row + 1).remainder(2).reshape(input.sizes());
  const auto column = at::arange(columns, at::kLong).reshape({1, columns});
  constexpr std::int64_t kFew = 4;
  const auto digits = at::bitwise_right_shift(7 - row.remainder(4) * 2, column).remainder(2);
  const auto numbers = columns <= kFew ? digits : column.remainder(row + 2).eq(0).to(at::kLong);
  return numbers.reshape(input.sizes());
}

at::Tensor harmless(const at::Tensor& given) {
  auto probe = at::empty_strided(given.sizes(), given.strides(), given.options());
  if (!given.is_floating_point()) return probe.copy_(given);
  constexpr std::int64_t kValues = 127;  // a prime: rows differ unless their length is a multiple
  const auto values = at::arange(kValues, at::TensorOptions(at::kLong));  // on the host
  const auto fractions = values.mul(37).remainder(kValues).to(at::kFloat).div(256);
  const auto repeated = fractions.repeat({given.numel() / kValues + 1}).slice(0, 0, given.numel());
  return probe.copy_(repeated.view(given.sizes()));
}

}  // namespace

std::vector<at::Tensor> harmless_probes(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> probes;
  for (const auto& input : inputs) probes.push_back(harmless(input));
  return probes;
}

std::vector<at::Tensor> probe_inputs(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> probes;
  for (const auto& input : inputs) {
    auto probe = input.clone(at::MemoryFormat::Preserve);
    probe.copy_(input.is_floating_point() ? fractions(input) : bits(input));
    probes.push_back(std::move(probe));
  }
  return probes;
}

namespace {

// Of the numbers with the same index in this dimension.
at::Tensor largest_along(const at::Tensor& magnitudes, std::int64_t dim) {
  return magnitudes.movedim(dim, 0).flatten(1).amax(1);
}

void check_along(const at::Tensor& error, const at::Tensor& expected, std::int64_t dim,
                 double share, double least_share) {
  const auto largest = largest_along(expected, dim).clamp_min(expected.max() * least_share);
  const auto found = largest_along(error, dim);
  const auto excess = found - largest * share;
  const auto worst = excess.argmax();
  if (excess[worst].item<double>() <= 0) return;
  throw std::runtime_error(format("its scores are off by {:.2g} of {:.2g}",
                                  found[worst].item<double>(), largest[worst].item<double>()));
}

void check_whole_numbers(const at::Tensor& scores, const at::Tensor& plain) {
  // A class may change where two scores are nearly equal.
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
    const auto finite = of.to(at::kDouble).masked_fill(is_finite.logical_not(), 0);
    return of.dim() < 2 ? finite.reshape({-1, 1}) : finite;
  };
  const auto expected = numbers(plain);
  const auto error = (numbers(scores) - expected).abs();
  const bool is_wide = plain.scalar_type() == at::kFloat || plain.scalar_type() == at::kDouble;
  const double share = is_wide ? tolerance.of_float32 : tolerance.of_16_bits;
  for (const std::int64_t dim : {std::int64_t{1}, expected.dim() - 1}) {
    check_along(error, expected.abs(), dim, share, is_wide ? tolerance.least_share : 1);
  }
}

// Into tuples, lists and dicts.
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

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  collect(value, tensors);
  return tensors;
}

void check_close_enough(const c10::IValue& scores, const c10::IValue& plain, Tolerance tolerance) {
  const auto found = tensors_of(scores);
  const auto expected = tensors_of(plain);
  if (found.size() != expected.size()) throw std::runtime_error("it returns something else");
  for (std::size_t i = 0; i < found.size(); ++i) check(found[i], expected[i], tolerance);
}

}  // namespace tally::libtorch
