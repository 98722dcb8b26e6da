// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd_pass.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/operator_registration.hpp"
#include "kernels/winograd.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/fusible_sums.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

bool is_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.device().is_cpu();
}

// What the operators are given, as the kernel wants it. Graphs name them by themselves: what would
// be read out of bounds is refused here.
struct Arguments {
  at::Tensor input, weight, bias;
  WinogradShape shape;

  Arguments(const at::Tensor& x, const at::Tensor& given_weight, const at::Tensor& given_bias,
            at::IntArrayRef padding)
      : input(x.contiguous(at::MemoryFormat::ChannelsLast)),
        weight(given_weight.contiguous()),
        bias(given_bias.contiguous()),
        shape(winograd_shape(x.sizes(), bias.numel(), padding)) {
    TORCH_CHECK(winograd_lanes() > 0, "this processor has no instructions for Winograd's");
    TORCH_CHECK(is_float(input) && is_float(weight) && is_float(bias),
                "Winograd's convolution takes float32 on the CPU");
    const std::vector<std::int64_t> size{bias.numel() / kChannelGroup, kTileProducts, input.size(1),
                                         kChannelGroup};
    TORCH_CHECK(weight.sizes() == size && bias.numel() % kChannelGroup == 0 &&
                    input.size(1) % kChannelMultiple == 0,
                "an image of ", input.size(1), " channels for Winograd's weights of ",
                weight.sizes(), " and ", bias.numel(), " biases");
    TORCH_CHECK(shape.out_height() > 0 && shape.out_width() > 0, "an image of ", shape.height,
                " x ", shape.width, " is smaller than the window of 3 x 3");
  }

  std::vector<std::int64_t> out_size() const {
    return {shape.num_images, shape.out_channels, shape.out_height(), shape.out_width()};
  }

  void convolve(bool adds, bool has_relu, const at::Tensor& out) const {
    convolve_by_winograd(
        winograd_lanes(), input.const_data_ptr<float>(), weight.const_data_ptr<float>(), shape,
        {bias.const_data_ptr<float>(), adds, has_relu}, out.mutable_data_ptr<float>());
  }
};

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    at::IntArrayRef padding, bool has_relu) {
  const Arguments arguments(input, weight, bias, padding);
  auto out =
      at::empty(arguments.out_size(), arguments.input.options(), at::MemoryFormat::ChannelsLast);
  arguments.convolve(/*adds=*/false, has_relu, out);
  return out;
}

at::Tensor& add_convolution(at::Tensor& other, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, at::IntArrayRef padding, bool has_relu) {
  const Arguments arguments(input, weight, bias, padding);
  const bool fits = other.sizes() == arguments.out_size() && is_float(other) &&
                    other.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (!fits) {
    other = other + convolve(input, weight, bias, padding, /*has_relu=*/false);  // it may grow
    return has_relu ? other.relu_() : other;
  }
  arguments.convolve(/*adds=*/true, has_relu, other);
  return other;
}

}  // namespace

void register_winograd() {
  static const auto library = [] {
    auto made = own_operators();
    made.def(
        "winograd_convolution(Tensor input, Tensor weight, Tensor bias, int[2] padding, "
        "bool relu) -> Tensor",
        &convolve);
    made.def(
        "winograd_convolution_(Tensor(a!) other, Tensor input, Tensor weight, Tensor bias, "
        "int[2] padding, bool relu) -> Tensor(a!)",
        &add_convolution);
    return made;
  }();
}

at::Tensor winograd_weight(const at::Tensor& weight) {
  auto made =
      at::empty({weight.size(0) / kChannelGroup, kTileProducts, weight.size(1), kChannelGroup},
                weight.options());
  transform_weights({weight.const_data_ptr<float>(),
                     weight.size(0),
                     weight.size(1),
                     {weight.stride(0), weight.stride(1), weight.stride(2), weight.stride(3)}},
                    made.mutable_data_ptr<float>());
  return made;
}

WinogradShape winograd_shape(at::IntArrayRef input_size, std::int64_t out_channels,
                             at::IntArrayRef padding) {
  return {input_size.at(0), input_size.at(2), input_size.at(3), input_size.at(1),
          out_channels,     padding.front(),  padding.back()};
}

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

int run_winograd_pass(Graph& graph) {
  std::vector<Node*> convolutions;
  for (Node* node : graph.nodes()) {
    if (is_float_convolution(node)) convolutions.push_back(node);
  }
  return static_cast<int>(std::ranges::count_if(
      convolutions, [&](Node* node) { return replace_convolution(graph, node); }));
}

}  // namespace tally::graph_optimizer
