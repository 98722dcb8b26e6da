#include "fused_module.hpp"

#include <utility>

#include <ATen/Parallel.h>

#include <tally/base/format.hpp>

#include "pack_weights.hpp"
#include "pool_without_indices.hpp"
#include "torch_errors.hpp"

namespace tally::model {
namespace {

// Sizes seen with `few` samples, as they are with `batch_size`.
std::vector<std::vector<std::int64_t>> scaled(std::vector<std::vector<std::int64_t>> sizes,
                                              std::int64_t few, std::int64_t batch_size) {
  for (auto& size : sizes) {
    auto& rows = size.at(0);
    const bool is_of_batch = size.size() == 4 && rows % few == 0;
    if (is_of_batch) rows = rows / few * batch_size;
  }
  return sizes;
}

void append(std::string& list, const char* part) {
  if (!list.empty()) list += ", ";
  list += part;
}

}  // namespace

FusedModule::FusedModule(torch::jit::Module frozen, Arguments arguments, std::string name)
    : arguments_(std::move(arguments)),
      name_(std::move(name)),
      plain_(frozen),
      module_(std::move(frozen)) {}

FusedModule::Use FusedModule::use_of(const Tensors& inputs, std::int64_t batch_size) {
  Use use{{}, at::get_num_threads()};
  for (const auto& input : inputs) {
    use.shapes.push_back(input.sizes().vec());
    use.shapes.back().at(0) = batch_size;
  }
  return use;
}

c10::IValue FusedModule::rehearse(const Tensors& inputs) {
  return rehearse_few(inputs, inputs.front().size(0));
}

c10::IValue FusedModule::rehearse_few(const Tensors& inputs, std::int64_t batch_size) {
  const bool is_settled = !plain_ || (use_ && *use_ == use_of(inputs, batch_size));
  return is_settled ? forward(inputs) : settle(inputs, batch_size);
}

c10::IValue FusedModule::run(const Tensors& inputs) {
  auto scores = use_ ? forward(inputs) : settle(inputs, inputs.front().size(0));
  const std::scoped_lock lock(plain_goes_);
  plain_.reset();
  return scores;
}

c10::IValue FusedModule::forward(const Tensors& inputs) {
  return module_.forward(arguments_.of(inputs));
}

void FusedModule::rewrite(Sums sums) {
  module_ = plain_->clone();
  num_fused_ = num_taken_ = 0;
  form_.clear();
  if (!is_fused(graph())) {
    num_fused_ = fuse_convolutions(graph(), sums);
    num_taken_ = take_plain_convolutions(graph());
  }
  if (num_fused_ > 0) append(form_, sums == Sums::fused ? "convolutions fused" : "ReLUs fused");
  if (pool_without_indices(graph()) > 0) append(form_, "pools without indices");
}

// A graph that has run is not to be changed any more: the same is made again, with its weights
// packed for what it will be given.
c10::IValue FusedModule::rewrite_and_run(const Tensors& inputs, std::int64_t batch_size,
                                         Sums sums) {
  rewrite(sums);
  if (num_fused_ + num_taken_ == 0) return forward(inputs);
  const InputSizes sizes;
  auto scores = forward(inputs);
  rewrite(sums);
  const auto expected = scaled(sizes.seen(), inputs.front().size(0), batch_size);
  const auto packed = pack_weights(graph(), expected);
  if (packed.convolutions == 0) return scores;
  append(form_, "weights packed");
  if (packed.of_them_winograd > 0) append(form_, "Winograd F(2x2, 3x3)");
  if (packed.of_them_narrow > 0) append(form_, "channels in eights");
  return forward(inputs);  // which may have other bits, and might fail
}

c10::IValue FusedModule::settle(const Tensors& inputs, std::int64_t batch_size) {
  use_.reset();
  auto scores = rewrite_as_far_as_possible(inputs, batch_size);
  use_ = use_of(inputs, batch_size);
  return scores;
}

// Only a batch shows what cannot be fused: tensors of other shapes than thought.
c10::IValue FusedModule::rewrite_as_far_as_possible(const Tensors& inputs,
                                                    std::int64_t batch_size) {
  notes_.clear();
  std::string reason;
  try {
    return rewrite_and_run(inputs, batch_size, Sums::fused);
  } catch (const std::exception& error) {
    if (num_fused_ + num_taken_ == 0) throw;
    reason = first_meaningful_line(error.what());
  }
  try {
    auto scores = rewrite_and_run(inputs, batch_size, Sums::left_alone);
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
