#include "kernels/winograd_pass.hpp"

#include <algorithm>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>

#include "kernels/winograd.hpp"
#include "kernels/winograd_convolution.hpp"
#include "onednn/profiled_graph.hpp"
#include "torchscript/fused_sums.hpp"
#include "torchscript/jit_graph_utils.hpp"

namespace tally::model {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// oneDNN's direct convolution is as fast with fewer channels or tiles, and where tiles reach so far
// beyond the edges that more than half as many pixels again are computed. Measured on an AMD EPYC
// (Zen 4), with 8 and 16 lanes beside oneDNN with AVX-512.
constexpr std::int64_t kLeastChannels = 32;
constexpr std::int64_t kLeastTiles = 64;
constexpr double kMostWaste = 1.5;  // pixels computed for each that there is

bool pays(const WinogradShape& shape) {
  const auto pixels = shape.num_images * shape.out_height() * shape.out_width();
  const auto computed = static_cast<double>(kTilePixels * shape.num_tiles());
  return shape.num_tiles() >= kLeastTiles && computed <= kMostWaste * static_cast<double>(pixels);
}

bool is_float_convolution(const Node* node) {
  return is_known_convolution(node) &&
         constant(node, "weight").toTensor().scalar_type() == at::kFloat;
}

// The ReLU that reads `value`, if nothing else does; else null.
Node* relu_after(const Value* value) {
  Node* const user = only_reader(value);
  return user != nullptr && is_a(user, {"aten::relu", "aten::relu_"}) ? user : nullptr;
}

bool suits(const Node* convolution, const at::Tensor& weight) {
  if (weight.size(2) != 3 || weight.size(3) != 3) return false;
  if (constant(convolution, "groups").toInt() != 1) return false;
  if (!is_all(convolution, "stride", 1) || !is_all(convolution, "dilation", 1)) return false;
  return winograd_lanes() > 0 && weight.size(1) % kChannelMultiple == 0 &&
         weight.size(0) % kChannelGroup == 0 && weight.size(1) >= kLeastChannels;
}

// Whether it took the convolution's place.
bool replace_convolution(Graph& graph, Node* convolution) {
  const auto weight = constant(convolution, "weight").toTensor();
  const auto input_size = sizes_of(convolution->namedInput("input"));
  if (!suits(convolution, weight) || !input_size || input_size->size() != 4) return false;
  const auto padding = constant(convolution, "padding").toIntVector();
  if (!pays(winograd_shape(*input_size, weight.size(0), padding))) return false;
  const auto fused = sum_to_fuse(graph, convolution);
  Node* const with_sum = fused ? fused->sum : convolution;
  Node* const relu = relu_after(with_sum->output());
  Node* const last = relu != nullptr ? relu : with_sum;
  // The new node stands before the sum, not where the ReLU stands: by then an operator that writes
  // in place may have changed what the convolution reads.
  const torch::jit::WithInsertPoint here(with_sum);
  std::vector<Value*> inputs;
  if (fused) inputs.push_back(fused->other);
  inputs.push_back(convolution->namedInput("input"));
  inputs.push_back(graph.insertConstant(winograd_weight(weight)));
  inputs.push_back(bias_or_zeros(graph, convolution, weight));
  inputs.push_back(convolution->namedInput("padding"));
  inputs.push_back(graph.insertConstant(relu != nullptr));
  register_winograd();
  const auto kind = c10::Symbol::fromQualString(fused ? kWinogradSum : kWinograd);
  replace(graph, graph.create(kind, inputs), last);
  if (last != with_sum) with_sum->destroy();
  if (with_sum != convolution) convolution->destroy();
  return true;
}

}  // namespace

int use_winograd(Graph& graph) {
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    if (is_float_convolution(node)) convolutions.push_back(node);
  }
  return static_cast<int>(std::ranges::count_if(
      convolutions, [&](Node* node) { return replace_convolution(graph, node); }));
}

}  // namespace tally::model
