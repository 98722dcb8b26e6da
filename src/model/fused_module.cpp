#include "fused_module.hpp"

#include <utility>

#include <tally/base/format.hpp>

#include "pack_weights.hpp"
#include "pool_without_indices.hpp"
#include "torch_errors.hpp"

namespace tally::model {

FusedModule::FusedModule(torch::jit::Module frozen, std::string name)
    : name_(std::move(name)), plain_(frozen), module_(std::move(frozen)) {}

FusedModule::Shapes FusedModule::shapes_of(const std::vector<at::Tensor>& inputs) {
  Shapes shapes;
  for (const auto& input : inputs) shapes.push_back(input.sizes().vec());
  return shapes;
}

c10::IValue FusedModule::rehearse(const std::vector<at::Tensor>& inputs) {
  const bool is_settled = !plain_ || (shapes_ && *shapes_ == shapes_of(inputs));
  return is_settled ? forward(inputs) : settle(inputs);
}

c10::IValue FusedModule::run(const std::vector<at::Tensor>& inputs) {
  auto scores = shapes_ ? forward(inputs) : settle(inputs);
  plain_.reset();
  return scores;
}

c10::IValue FusedModule::forward(const std::vector<at::Tensor>& inputs) {
  return module_.forward({inputs.begin(), inputs.end()});
}

void FusedModule::rewrite(Sums sums) {
  module_ = plain_->clone();
  num_fused_ = fuse_convolutions(graph(), sums);
  std::vector<std::string> parts;
  if (num_fused_ > 0) parts.push_back(sums == Sums::fused ? "convolutions fused" : "ReLUs fused");
  if (pool_without_indices(graph()) > 0) parts.push_back("pools without indices");
  form_ = format("{}", fmt::join(parts, ", "));
}

// A graph that has run is not to be changed any more: the same is made again, with its weights
// packed for what it is given.
c10::IValue FusedModule::rewrite_and_run(const std::vector<at::Tensor>& inputs, Sums sums) {
  rewrite(sums);
  if (num_fused_ == 0) return forward(inputs);
  const InputSizes sizes;
  auto scores = forward(inputs);
  rewrite(sums);
  if (pack_weights(graph(), sizes.seen()) > 0) form_ += ", weights packed";
  return scores;
}

c10::IValue FusedModule::settle(const std::vector<at::Tensor>& inputs) {
  shapes_.reset();
  auto scores = rewrite_as_far_as_possible(inputs);
  shapes_ = shapes_of(inputs);
  return scores;
}

// Only a batch shows what cannot be fused: tensors of other shapes than thought.
c10::IValue FusedModule::rewrite_as_far_as_possible(const std::vector<at::Tensor>& inputs) {
  notes_.clear();
  std::string reason;
  try {
    return rewrite_and_run(inputs, Sums::fused);
  } catch (const std::exception& error) {
    if (num_fused_ == 0) throw;
    reason = first_meaningful_line(error.what());
  }
  try {
    auto scores = rewrite_and_run(inputs, Sums::left_alone);
    notes_.push_back(format("model '{}': sums are not fused ({})", name_, reason));
    return scores;
  } catch (const std::exception&) {
    module_ = *plain_;
    form_.clear();
  }
  auto scores = forward(inputs);
  notes_.push_back(format("model '{}': nothing is fused ({})", name_, reason));
  return scores;
}

}  // namespace tally::model
