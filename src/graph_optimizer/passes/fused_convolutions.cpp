// SPDX-License-Identifier: Apache-2.0
#include "passes/fused_convolutions.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/cudnn_convolution_add_relu.h>
#include <ATen/ops/cudnn_convolution_relu.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/operator_registration.hpp"
#include "kernels/space_to_depth.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr const char* kConvolution = "tally::convolution_relu";
constexpr const char* kConvolutionSum = "tally::convolution_add_relu";
constexpr const char* kConvolutionOfSquares = "tally::convolution_relu_of_squares";

// The arguments that the operators share.
struct Call {
  const at::Tensor &input, &weight, &bias;
  at::IntArrayRef stride, padding, dilation;

  bool suits_cudnn() const {
    const auto type = input.scalar_type();
    return input.is_cuda() && input.dim() == 4 && input.numel() > 0 &&
           type == weight.scalar_type() && type == bias.scalar_type();
  }
  at::Tensor convolve() const {
    return at::convolution(input, weight, bias, stride, padding, dilation, /*transposed=*/false,
                           /*output_padding=*/{0, 0}, /*groups=*/1);
  }
  // Along dimension 2 or 3.
  std::int64_t out_size(std::size_t dimension) const {
    const auto i = dimension - 2;
    const auto window = dilation[i] * (weight.sizes()[dimension] - 1) + 1;
    return (input.sizes()[dimension] + 2 * padding[i] - window) / stride[i] + 1;
  }
  // cuDNN does not repeat what is smaller than the result.
  bool fits(const at::Tensor& other) const {
    const std::vector<std::int64_t> sizes{input.size(0), weight.size(0), out_size(2), out_size(3)};
    return other.sizes() == sizes && other.scalar_type() == input.scalar_type();
  }
};

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation) {
  const Call call{input, weight, bias, stride, padding, dilation};
  if (!call.suits_cudnn()) return at::relu(call.convolve());
  return at::cudnn_convolution_relu(input, weight, bias, stride, padding, dilation, 1);
}

// `is_in_place`: the sum was written over the convolution, whose type it keeps.
at::Tensor convolve_and_add(const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& other, at::IntArrayRef stride,
                            at::IntArrayRef padding, at::IntArrayRef dilation, bool is_in_place) {
  const Call call{input, weight, bias, stride, padding, dilation};
  if (!call.suits_cudnn() || !call.fits(other)) {
    auto convolved = call.convolve();
    return at::relu(is_in_place ? convolved.add_(other) : convolved + other);
  }
  return at::cudnn_convolution_add_relu(input, weight, other, 1, bias, stride, padding, dilation,
                                        1);
}

// `weight` is weight_of_squares() of a convolution of step 2 with such a window.
at::Tensor convolve_squares(const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, at::IntArrayRef window,
                            at::IntArrayRef padding) {
  const std::vector<std::int64_t> ones{1, 1}, zeros{0, 0};
  const auto images = input.contiguous(at::MemoryFormat::ChannelsLast);
  TORCH_CHECK(can_be_squares(images), "images of ", images.sizes(), " for squares of pixels");
  return convolve(squares_of(images, window, padding), weight, bias, ones, zeros, ones);
}

void register_fused_once() {
  static const auto library = [] {
    auto made = own_operators();
    made.def(
        "convolution_relu(Tensor input, Tensor weight, Tensor bias, int[2] stride, "
        "int[2] padding, int[2] dilation) -> Tensor",
        &convolve);
    made.def(
        "convolution_relu_of_squares(Tensor input, Tensor weight, Tensor bias, int[2] window, "
        "int[2] padding) -> Tensor",
        &convolve_squares);
    made.def(
        "convolution_add_relu(Tensor input, Tensor weight, Tensor bias, Tensor other, "
        "int[2] stride, int[2] padding, int[2] dilation, bool is_in_place) -> Tensor",
        &convolve_and_add);
    return made;
  }();
}

bool is_suitable(const Node* node) {
  const auto has_two = [node](const char* name) {
    return constant(node, name).toIntVector().size() == 2;
  };
  return is_known_convolution(node) && constant(node, "groups").toInt() == 1 &&
         constant(node, "weight").toTensor().is_floating_point() && has_two("stride") &&
         has_two("padding") && has_two("dilation");
}

bool is_relu(const Node* node) {
  return node != nullptr && is_a(node, {"aten::relu", "aten::relu_"});
}

// The other side of a sum with `convolved`; null if it is none. add_() with it on the right would
// write over that side.
Value* other_side(Node* sum, const Value* convolved) {
  const bool adds = is_a(sum, {"aten::add", "aten::add_"}) && sum->inputs().size() == 3;
  if (!adds || !is_one(constant(sum, "alpha"))) return nullptr;
  const bool is_left = sum->input(0) == convolved;
  if (!is_left && is_a(sum, {"aten::add_"})) return nullptr;
  Value* const other = sum->input(is_left ? 1 : 0);
  return other != convolved && is_tensor(other) ? other : nullptr;
}

// Nodes in their order; `sum` may be missing.
struct Chain {
  Node *convolution, *sum, *relu;
  Value* other = nullptr;  // that is added
};

std::optional<Chain> chain_of(Node* convolution) {
  Node* const next = only_reader(convolution->output());
  if (is_relu(next)) return Chain{convolution, nullptr, next};
  Value* const other = next != nullptr ? other_side(next, convolution->output()) : nullptr;
  if (other == nullptr) return std::nullopt;
  Node* const relu = only_reader(next->output());
  if (!is_relu(relu)) return std::nullopt;
  return Chain{convolution, next, relu, other};
}

// Whether all can be computed where the ReLU stands: what is read may not change before. Moves
// nodes so that nothing stands between those of the chain.
bool can_be_joined(Graph& graph, const Chain& chain) {
  torch::jit::AliasDb aliases(graph.shared_from_this());
  const auto move_before = [&](Node* node, Node* next) {
    return aliases.moveBeforeTopologicallyValid(node, next);
  };
  if (chain.sum == nullptr) {
    return move_before(chain.convolution, chain.relu) && chain.convolution->next() == chain.relu;
  }
  // Moving the sum may bring other nodes between it and the convolution, which then moves once
  // more.
  return move_before(chain.convolution, chain.sum) && move_before(chain.sum, chain.relu) &&
         move_before(chain.convolution, chain.sum) && chain.convolution->next() == chain.sum &&
         chain.sum->next() == chain.relu;
}

// Where the other side of a sum is a convolution as well, its bias is added with that of the first,
// which costs nothing. Returns the bias of the first.
Value* shared_bias(Graph& graph, const Chain& chain) {
  Value* const own =
      bias_or_zeros(graph, chain.convolution, constant(chain.convolution, "weight").toTensor());
  if (chain.sum == nullptr) return own;
  Node* const other = chain.other->node();
  const auto own_bias = torch::jit::toIValue(own);
  if (!is_suitable(other) || only_reader(other->output()) != chain.sum || !own_bias) return own;
  const auto theirs = constant(other, "bias");
  if (!theirs.isTensor()) return own;
  const auto &here = own_bias->toTensor(), &there = theirs.toTensor();
  if (there.sizes() != here.sizes() || !there.options().type_equal(here.options())) return own;
  const auto both = (here.to(at::kDouble) + there.to(at::kDouble)).to(here.scalar_type());
  Value* const bias = graph.insertConstant(both);
  const torch::jit::WithInsertPoint before(other);
  other->replaceInputWith(other->namedInput("bias"), graph.insertConstant(at::IValue()));
  return bias;
}

// The first one of most networks: of step 2, over the channels of a picture.
bool suits_squares(const Chain& chain) {
  const auto weight = constant(chain.convolution, "weight").toTensor();
  return chain.sum == nullptr && weight.element_size() == 2 &&
         weight.size(1) <= kMostChannelsOfSquares && weight.size(2) > 2 && weight.size(3) > 2 &&
         is_all(chain.convolution, "stride", 2) && is_all(chain.convolution, "dilation", 1);
}

Node* of_squares(Graph& graph, const Chain& chain) {
  const auto weight = constant(chain.convolution, "weight").toTensor();
  const std::vector<std::int64_t> window{weight.size(2), weight.size(3)};
  return graph.create(
      c10::Symbol::fromQualString(kConvolutionOfSquares),
      {chain.convolution->namedInput("input"), graph.insertConstant(weight_of_squares(weight)),
       bias_or_zeros(graph, chain.convolution, weight), graph.insertConstant(window),
       chain.convolution->namedInput("padding")});
}

Node* joined(Graph& graph, const Chain& chain) {
  if (suits_squares(chain)) return of_squares(graph, chain);
  Node* const convolution = chain.convolution;
  std::vector<Value*> inputs{convolution->namedInput("input"), convolution->namedInput("weight"),
                             shared_bias(graph, chain)};
  if (chain.sum != nullptr) inputs.push_back(chain.other);
  for (const char* name : {"stride", "padding", "dilation"}) {
    inputs.push_back(convolution->namedInput(name));
  }
  if (chain.sum != nullptr) {
    inputs.push_back(graph.insertConstant(is_a(chain.sum, {"aten::add_"})));
  }
  const auto kind =
      c10::Symbol::fromQualString(chain.sum != nullptr ? kConvolutionSum : kConvolution);
  return graph.create(kind, inputs);
}

void join(Graph& graph, const Chain& chain) {
  register_fused_once();
  const torch::jit::WithInsertPoint here(chain.relu);
  replace(graph, joined(graph, chain), chain.relu);
  if (chain.sum != nullptr) chain.sum->destroy();
  chain.convolution->destroy();
}

}  // namespace

void check_keeps_nan(c10::Device device, c10::ScalarType type) {
  constexpr std::int64_t kChannels = 64;
  const auto options = at::TensorOptions(type).device(device);
  const auto last = at::MemoryFormat::ChannelsLast;
  const auto weight = at::ones({kChannels, kChannels, 3, 3}, options).contiguous(last);
  const auto bias = at::zeros({kChannels}, options);
  const std::vector<std::int64_t> ones{1, 1};
  // Zeros are tried as well, because a kernel that reads memory which nobody has written may make
  // NaN of them.
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), 0.0}) {
    const auto x = at::full({2, kChannels, 8, 8}, value, options).contiguous(last);
    const auto is_kept = [&](const at::Tensor& found) {
      const auto is_nan = found.isnan();
      return std::isnan(value) ? is_nan.all().item<bool>() : !is_nan.any().item<bool>();
    };
    if (is_kept(convolve(x, weight, bias, ones, ones, ones)) &&
        is_kept(convolve_and_add(x, weight, bias, at::ones_like(x), ones, ones, ones, false))) {
      continue;
    }
    throw std::runtime_error(std::isnan(value) ? "its ReLU takes NaN for a number"
                                               : "it makes NaN of numbers");
  }
}

int fuse_convolutions(Graph& graph) {
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    if (is_suitable(node)) convolutions.push_back(node);
  }
  // They are collected before, because joining a chain takes nodes out of the list.
  int num_fused = 0;
  for (Node* node : convolutions) {
    const auto chain = chain_of(node);
    if (!chain || !can_be_joined(graph, *chain)) continue;
    join(graph, *chain);
    ++num_fused;
  }
  return num_fused;
}

}  // namespace tally::graph_optimizer
