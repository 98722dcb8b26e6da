#include "use_winograd.hpp"

#include <torch/csrc/jit/ir/constants.h>

#include "fuse_convolutions.hpp"
#include "graph_edit.hpp"
#include "winograd.hpp"
#include "winograd_convolution.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// With fewer channels or tiles oneDNN's direct convolution is as fast, and where many tiles hang
// over (AMD EPYC, Zen 4, with 8 and 16 lanes, beside oneDNN with AVX-512).
constexpr std::int64_t kLeastChannels = 32;
constexpr std::int64_t kLeastTiles = 64;
constexpr double kMostWaste = 1.5;  // pixels computed for each that there is

bool pays(const WinogradShape& shape) {
  const auto pixels = shape.num_images * shape.out_height() * shape.out_width();
  const auto computed = static_cast<double>(kTilePixels * shape.num_tiles());
  return shape.num_tiles() >= kLeastTiles && computed <= kMostWaste * static_cast<double>(pixels);
}

// The ReLU that alone reads `value`, if that is so. Its result may then be the memory of the sum,
// which nothing else knows of.
Node* relu_after(const Value* value) {
  Node* const user = only_reader(value);
  const bool is_relu =
      user != nullptr && (user->kind() == c10::Symbol::fromQualString("aten::relu_") ||
                          user->kind() == c10::Symbol::fromQualString("aten::relu"));
  return is_relu ? user : nullptr;
}

}  // namespace

bool suits_winograd(const Node* convolution, const at::Tensor& weight) {
  const bool is_small = weight.dim() == 4 && weight.size(2) == 3 && weight.size(3) == 3;
  if (!is_small || weight.scalar_type() != at::kFloat) return false;
  if (constant(convolution, "groups").toInt() != 1) return false;
  if (!is_all(convolution, "stride", 1) || !is_all(convolution, "dilation", 1)) return false;
  return winograd_lanes() > 0 && weight.size(1) % kChannelMultiple == 0 &&
         weight.size(0) % kChannelGroup == 0 && weight.size(1) >= kLeastChannels;
}

bool use_winograd(Graph& graph, Node* node, const std::vector<std::int64_t>& input_size) {
  const auto weight = constant(node, "W").toTensor();
  if (!suits_winograd(node, weight) || input_size.size() != 4) return false;
  const auto padding = constant(node, "padding").toIntVector();
  if (!pays(winograd_shape(input_size, weight.size(0), padding))) return false;
  if (!is_tensor_or_none(node->namedInput("B"))) return false;
  const bool is_sum = node->kind() == c10::Symbol::fromQualString(kFusedSum);
  Node* const relu = is_sum ? relu_after(node->output()) : nullptr;
  const bool has_relu =
      relu != nullptr || (!is_sum && constant(node, "attr").toStringRef() == kFusedRelu);
  const torch::jit::WithInsertPoint here(node);
  std::vector<Value*> inputs;
  if (is_sum) inputs.push_back(node->input(0));
  inputs.push_back(node->namedInput("X"));
  inputs.push_back(graph.insertConstant(winograd_weight(weight)));
  inputs.push_back(bias_or_zeros(graph, node, weight));
  inputs.push_back(node->namedInput("padding"));
  inputs.push_back(graph.insertConstant(has_relu));
  register_winograd();
  const auto kind = c10::Symbol::fromQualString(is_sum ? kWinogradSum : kWinograd);
  replace(graph, graph.create(kind, inputs), relu != nullptr ? relu : node);
  if (relu != nullptr) node->destroy();
  return true;
}

}  // namespace tally::model
