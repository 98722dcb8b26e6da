#include "batch_norms.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "factors_of_one.hpp"
#include "graph_edit.hpp"
#include "profiled_graph.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// None where they are no constants.
struct Numbers {
  at::Tensor scale, shift;  // [channels], float64
};

std::optional<at::Tensor> numbers_of(const Node* norm, const char* name,
                                     const at::Tensor& missing) {
  if (is_none(norm->namedInput(name))) return missing;
  const auto given = constant(norm, name);
  return given.isTensor() ? std::optional(given.toTensor().to(at::kDouble)) : std::nullopt;
}

std::optional<Numbers> numbers_of(const Node* norm) {
  const auto mean = constant(norm, "running_mean"), variance = constant(norm, "running_var");
  const auto training = constant(norm, "training"), eps = constant(norm, "eps");
  const bool is_known =
      mean.isTensor() && variance.isTensor() && training.isBool() && eps.isDouble();
  if (!is_known || training.toBool()) return std::nullopt;
  const auto spread = variance.toTensor().to(at::kFloat).add(eps.toDouble()).to(at::kDouble);
  const auto weight = numbers_of(norm, "weight", at::ones(spread.sizes(), at::kDouble));
  const auto bias = numbers_of(norm, "bias", at::zeros(spread.sizes(), at::kDouble));
  if (!weight || !bias) return std::nullopt;
  const auto scale = spread.rsqrt().mul(*weight);
  return Numbers{scale, bias->sub(mean.toTensor().to(at::kDouble).mul(scale))};
}

constexpr Kinds kReshapes{"aten::flatten", "aten::reshape", "aten::view", "aten::reshape_as",
                          "aten::view_as"};

// The linear layer whose places, one below the other, are what is normalised; null if it is none.
Node* linear_before(const Node* norm) {
  auto* const flat = norm->namedInput("input")->node();
  if (!is_a(flat, kReshapes) || only_reader(flat->output()) != norm) return nullptr;
  auto* const linear = flat->input(0)->node();
  const auto sizes = sizes_of(flat->output()), of_linear = sizes_of(flat->input(0));
  const bool keeps_channels = sizes && of_linear && sizes->size() == 2 && !of_linear->empty() &&
                              sizes->back() == of_linear->back();
  return keeps_channels && is_a(linear, {"aten::linear"}) ? linear : nullptr;
}

// What gives the normalised layer the layer's own sizes again; null if nothing does.
Node* reshape_after(const Node* norm, const Node* linear) {
  auto* const reshape = only_reader(norm->output());
  if (reshape == nullptr || !is_a(reshape, kReshapes)) return nullptr;
  return sizes_of(reshape->output()) == sizes_of(linear->output()) ? reshape : nullptr;
}

// Other readers of the layer would get the normalised one.
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
  const auto weight = constant(linear, "weight");
  const auto numbers = numbers_of(norm);
  if (reshape == nullptr || !weight.isTensor() || !numbers) return;
  const auto type = weight.toTensor().scalar_type();
  const auto bias = numbers_of(linear, "bias", at::zeros(numbers->shift.sizes(), at::kDouble));
  if (!bias || !is_for_norm_alone(linear, norm, reshape)) return;
  const torch::jit::WithInsertPoint here(linear);
  const auto weights = weight.toTensor().to(at::kDouble).mul(numbers->scale.unsqueeze(1));
  linear->replaceInput(1, graph.insertConstant(weights.to(type)));
  const auto shift = bias->mul(numbers->scale).add(numbers->shift);
  linear->replaceInput(2, graph.insertConstant(shift.to(type)));
  reshape->output()->replaceAllUsesWith(linear->output());
}

bool is_read_by_function_alone(const Node* norm) {
  const auto* const reader = only_reader(norm->output());
  return reader != nullptr && (is_function(reader) || is_a(reader, {"aten::relu", "aten::silu"}));
}

}  // namespace

void fold_into_linear_layers(Graph& graph) {
  for (const Node* node : all_nodes(graph.block())) {
    if (is_a(node, {"aten::batch_norm"})) fold(graph, node);
  }
}

bool replace_by_arithmetic(Graph& graph, Node* norm) {
  const auto* const x = norm->namedInput("input");
  const auto sizes = sizes_of(x);
  const auto type = norm->output()->type()->cast<c10::TensorType>();
  if (!sizes || sizes->size() < 2 || !type || !type->scalarType() || !is_dense(x)) return false;
  if (!is_read_by_function_alone(norm)) return false;
  const auto numbers = numbers_of(norm);
  if (!numbers) return false;

  std::vector<std::int64_t> along(sizes->size(), 1);
  along[1] = sizes->at(1);
  const auto of_channels = [&](const at::Tensor& values) {
    return graph.insertConstant(values.to(*type->scalarType()).view(along));
  };
  const torch::jit::WithInsertPoint here(norm);
  auto* const begin = insert_product_with_one(graph, norm->namedInput("input"));
  if (begin == nullptr) return false;
  auto* const product = graph.insertNode(
      graph.create(c10::Symbol::fromQualString("aten::mul"), {begin, of_channels(numbers->scale)}));
  product->output()->setType(type);
  auto* const sum =
      graph.create(c10::Symbol::fromQualString("aten::add"),
                   {product->output(), of_channels(numbers->shift), graph.insertConstant(1)});
  replace(graph, sum, norm);
  return true;
}

}  // namespace tally::model
