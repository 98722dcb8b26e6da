#include "onednn/same_padding.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Node;

// As traced networks have it, with the arguments of conv2d; LibTorch's oneDNN fuser does not know
// it.
constexpr const char* kByWord = "aten::_convolution_mode";

// None where one side gets more than the other.
std::optional<std::vector<std::int64_t>> padding_of(const Node* convolution) {
  const auto word = constant(convolution, "padding");
  const auto weight = constant(convolution, "weight");
  const auto dilation = constant(convolution, "dilation");
  if (!word.isString() || !weight.isTensor() || !dilation.isIntList()) return std::nullopt;
  std::vector<std::int64_t> padding(2, 0);
  if (word.toStringRef() == "valid") return padding;
  const auto steps = dilation.toIntVector();
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const auto both =
        steps.at(i % steps.size()) * (weight.toTensor().size(static_cast<std::int64_t>(i) + 2) - 1);
    if (both % 2 != 0) return std::nullopt;
    padding[i] = both / 2;
  }
  return padding;
}

}  // namespace

void spell_out_paddings(torch::jit::Graph& graph) {
  constexpr std::size_t kPadding = 4;  // of conv2d's arguments
  for (Node* node : all_nodes(graph.block())) {
    if (!is_a(node, {"aten::conv2d", kByWord}) || !constant(node, "padding").isString()) continue;
    const torch::jit::WithInsertPoint here(node);
    auto inputs = node->inputs().vec();
    const auto padding = padding_of(node);
    if (padding) inputs.at(kPadding) = graph.insertConstant(*padding);
    const auto kind = c10::Symbol::fromQualString(padding ? "aten::conv2d" : kByWord);
    replace(graph, graph.create(kind, inputs), node);
  }
}

}  // namespace tally::model
