#include "probe_inputs.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

namespace tally::model {
namespace {

at::Tensor fractions(const at::Tensor& input) {
  constexpr double kStep = 0.6180339887498949;  // a golden section further each time
  const auto steps = at::arange(input.numel(), at::kDouble).mul_(kStep);
  return steps.sub_(steps.floor()).mul_(4).sub_(2).reshape(input.sizes());
}

// Sample i alternates after i + 1 numbers; single numbers alternate from sample to sample.
at::Tensor bits(const at::Tensor& input) {
  const auto rows = input.size(0);
  const auto row = at::arange(rows, at::kLong).reshape({rows, 1});
  const auto columns = rows == 0 ? 0 : input.numel() / rows;
  if (columns <= 1) return (row + 1).remainder(2).reshape(input.sizes());
  const auto column = at::arange(columns, at::kLong).reshape({1, columns});
  return (column.floor_divide(row + 1) + 1).remainder(2).reshape(input.sizes());
}

}  // namespace

std::vector<at::Tensor> probe_inputs(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> probes;
  for (const auto& input : inputs) {
    auto probe = input.clone(at::MemoryFormat::Preserve);
    probe.copy_(input.is_floating_point() ? fractions(input) : bits(input));
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace tally::model
