#include "onednn/normalisation_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/ir/constants.h>

#include "onednn/profiled_graph.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
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

}  // namespace tally::model
