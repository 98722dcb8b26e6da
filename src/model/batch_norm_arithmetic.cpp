#include "batch_norm_arithmetic.hpp"

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

bool is_read_by_function_alone(const Node* norm) {
  const auto* const reader = only_reader(norm->output());
  return reader != nullptr && (is_function(reader) || is_a(reader, {"aten::relu", "aten::silu"}));
}

}  // namespace

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
