// SPDX-License-Identifier: Apache-2.0
#include "onednn/normalisation_rewrites.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/ir/constants.h>

#include "onednn/onednn_arithmetic.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// A normalisation is (x - mean) * scale + bias.
struct Numbers {
  at::Tensor mean, scale, bias;  // [channels], float64

  at::Tensor shift() const { return bias - mean * scale; }
};

// None where they are no constants.
std::optional<at::Tensor> numbers_of(const Node* norm, const char* name,
                                     const at::Tensor& missing) {
  if (is_none(norm->namedInput(name))) return missing;
  const auto given = constant(norm, name);
  return given.isTensor() ? std::optional(given.toTensor().to(at::kDouble)) : std::nullopt;
}

// None where they are no constants, and for a normalisation by the batch's own statistics.
std::optional<Numbers> numbers_of(const Node* norm) {
  const auto mean = constant(norm, "running_mean"), variance = constant(norm, "running_var");
  const auto training = constant(norm, "training"), eps = constant(norm, "eps");
  const bool is_known =
      mean.isTensor() && variance.isTensor() && training.isBool() && eps.isDouble();
  if (!is_known || training.toBool()) return std::nullopt;
  // In the type that LibTorch computes it in, where a small `eps` may vanish.
  const auto spread = variance.toTensor().to(at::kFloat).add(eps.toDouble()).to(at::kDouble);
  const auto weight = numbers_of(norm, "weight", at::ones(spread.sizes(), at::kDouble));
  const auto bias = numbers_of(norm, "bias", at::zeros(spread.sizes(), at::kDouble));
  if (!weight || !bias) return std::nullopt;
  return Numbers{mean.toTensor().to(at::kDouble), spread.rsqrt().mul(*weight), *bias};
}

// Float16 overflows sooner than float32, in which LibTorch normalises; float64 has more digits.
bool has_known_type(const Value* value) {
  const auto type = type_of(value);
  return type && (*type == at::kFloat || *type == at::kBFloat16);
}

constexpr Kinds kReshapes{"aten::flatten", "aten::reshape", "aten::view", "aten::reshape_as",
                          "aten::view_as"};

// The linear layer whose results, [..., channels], are normalised as [rows, channels]; null if it
// is none.
Node* linear_before(const Node* norm) {
  auto* const flat = norm->namedInput("input")->node();
  if (!is_a(flat, kReshapes) || only_reader(flat->output()) != norm) return nullptr;
  auto* const linear = flat->input(0)->node();
  const auto sizes = sizes_of(flat->output()), of_linear = sizes_of(flat->input(0));
  const bool keeps_channels = sizes && of_linear && sizes->size() == 2 && !of_linear->empty() &&
                              sizes->back() == of_linear->back();
  return keeps_channels && is_a(linear, {"aten::linear"}) ? linear : nullptr;
}

// What gives the normalised results the layer's own sizes again; null if nothing does.
Node* reshape_after(const Node* norm, const Node* linear) {
  auto* const reshape = only_reader(norm->output());
  if (reshape == nullptr || !is_a(reshape, kReshapes)) return nullptr;
  if (reshape->input(0) != norm->output()) return nullptr;
  return sizes_of(reshape->output()) == sizes_of(linear->output()) ? reshape : nullptr;
}

// Other readers of the layer would get the normalised results.
bool is_for_norm_alone(const Node* linear, const Node* norm, const Node* reshape) {
  return std::ranges::all_of(linear->output()->uses(), [&](const torch::jit::Use& use) {
    return use.user == reshape || use.user == norm->namedInput("input")->node() ||
           is_a(use.user, {"aten::size"});
  });
}

void fold(Graph& graph, const Node* norm) {
  auto* const linear = linear_before(norm);
  if (linear == nullptr) return;
  auto* const reshape = reshape_after(norm, linear);
  const auto given = constant(linear, "weight");
  const auto numbers = numbers_of(norm);
  if (reshape == nullptr || !given.isTensor() || !numbers) return;
  const auto& weight = given.toTensor();
  const bool has_one_type =
      has_known_type(linear->output()) && type_of(reshape->output()) == type_of(linear->output());
  const auto bias = numbers_of(linear, "bias", at::zeros(numbers->bias.sizes(), at::kDouble));
  if (weight.dim() != 2 || !has_one_type || !bias) return;
  if (!is_for_norm_alone(linear, norm, reshape)) return;
  const torch::jit::WithInsertPoint here(linear);
  const auto weights = weight.to(at::kDouble).mul(numbers->scale.unsqueeze(1));
  linear->replaceInput(1, graph.insertConstant(weights.to(weight.scalar_type())));
  const auto shift = bias->mul(numbers->scale).add(numbers->shift());
  linear->replaceInput(2, graph.insertConstant(shift.to(weight.scalar_type())));
  reshape->output()->replaceAllUsesWith(linear->output());
}

// Puts arithmetic on a tensor with numbers for each channel into a graph, one after the other.
class OnChannels {
 public:
  OnChannels(Graph& graph, Value* x) : graph_(graph), x_(x), type_(x->type()) {
    along_.assign(sizes_of(x)->size(), 1);
    along_[1] = -1;
  }
  Value* result() const { return x_; }

  void multiply(const at::Tensor& numbers) { append("aten::mul", {x_, constant_of(numbers)}); }
  // In two parts where one number of this type is not enough.
  void add(const at::Tensor& numbers) {
    append("aten::add", {x_, constant_of(numbers), graph_.insertConstant(1)});
    const auto rest = numbers - numbers.to(*type_of(x_)).to(at::kDouble);
    if (type_of(x_) != at::kFloat && rest.ne(0).any().item<bool>()) {
      append("aten::add", {x_, constant_of(rest), graph_.insertConstant(1)});
    }
  }

 private:
  Value* constant_of(const at::Tensor& numbers) {
    return graph_.insertConstant(numbers.to(*type_of(x_)).view(along_));
  }
  void append(const char* kind, at::ArrayRef<Value*> inputs) {
    x_ = graph_.insertNode(graph_.create(c10::Symbol::fromQualString(kind), inputs))->output();
    x_->setType(type_);
  }

  Graph& graph_;
  Value* x_;
  c10::TypePtr type_;
  std::vector<std::int64_t> along_;
};

}  // namespace

void fold_into_linear_layers(Graph& graph) {
  for (const Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::batch_norm"})) fold(graph, node);
  }
}

bool replace_by_arithmetic(Graph& graph, Node* norm) {
  const auto* const x = norm->namedInput("input");
  const auto sizes = sizes_of(x);
  constexpr std::size_t kMostDimensions = 4;  // of five oneDNN has its reference code alone
  if (!sizes || sizes->size() < 2 || sizes->size() > kMostDimensions || !is_dense(x)) return false;
  const auto numbers = numbers_of(norm);
  if (!has_known_type(x) || type_of(x) != type_of(norm->output()) || !numbers) return false;

  const torch::jit::WithInsertPoint here(norm);
  OnChannels channels(graph, insert_product_with_one(graph, norm->namedInput("input")));
  if (type_of(x) == at::kFloat) {
    channels.multiply(numbers->scale);
    channels.add(numbers->shift());
  } else {  // what is rounded to 16 bits must not cancel out
    channels.add(-numbers->mean);
    channels.multiply(numbers->scale);
    channels.add(numbers->bias);
  }
  norm->output()->replaceAllUsesWith(channels.result());
  norm->destroy();
  return true;
}

namespace {

using torch::jit::Graph;
using torch::jit::Node;

// How many weights a normalisation has; none where that is not known.
std::vector<std::int64_t> weight_size(const Node* norm) {
  if (is_a(norm, {"aten::layer_norm"})) {
    const auto shape = constant(norm, "normalized_shape");
    return shape.isIntList() ? shape.toIntVector() : std::vector<std::int64_t>();
  }
  const auto sizes = sizes_of(norm->output());
  return sizes && sizes->size() > 1 ? std::vector{sizes->at(1)} : std::vector<std::int64_t>();
}

// The fuser takes weights and biases for granted.
void name_weights(Graph& graph, Node* norm) {
  const auto size = weight_size(norm);
  const auto type = norm->output()->type()->expect<c10::TensorType>()->scalarType();
  if (size.empty() || !type) return;
  const torch::jit::WithInsertPoint here(norm);
  const auto fill = [&](const char* name, const at::Tensor& values) {
    const auto* const given = norm->namedInput(name);
    if (!is_none(given)) return;
    const auto inputs = norm->inputs();
    const auto found = std::ranges::find(inputs, given);  // weights come before biases
    norm->replaceInput(static_cast<std::size_t>(found - inputs.begin()),
                       graph.insertConstant(values));
  };
  fill("weight", at::ones(size, *type));
  fill("bias", at::zeros(size, *type));
}

// oneDNN takes those of a layer normalisation in 16 bits as float32 only, as LibTorch does, too.
void widen_weights(Graph& graph, Node* norm) {
  const torch::jit::WithInsertPoint here(norm);
  for (const std::size_t i : {2U, 3U}) {
    const auto weights = torch::jit::toIValue(norm->input(i));
    if (!weights || !weights->isTensor() || !weights->toTensor().defined()) continue;
    if (weights->toTensor().scalar_type() == at::kFloat) continue;
    norm->replaceInput(i, graph.insertConstant(weights->toTensor().to(at::kFloat)));
  }
}

}  // namespace

void complete_weights(Graph& graph, Node* norm) {
  name_weights(graph, norm);
  if (is_a(norm, {"aten::layer_norm"})) widen_weights(graph, norm);
}

}  // namespace tally::graph_optimizer
