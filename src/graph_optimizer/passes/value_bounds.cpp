// SPDX-License-Identifier: Apache-2.0
#include "passes/value_bounds.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/pool_without_indices.hpp"
#include "kernels/winograd_pass.hpp"
#include "onednn/profiled_graph.hpp"
#include "passes/jit_graph.hpp"

namespace tally::graph_optimizer {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestFloat = std::numeric_limits<float>::max();
// Between a bound and the largest number of its type: for what is larger on the way (hardswish
// multiplies by up to 6 and then divides by 6), and for rounding.
constexpr double kMargin = 16;

constexpr Kinds kKnownLayers{"aten::_convolution", "aten::convolution", "aten::conv1d",
                             "aten::conv2d",       "aten::conv3d",      "aten::linear"};
// What they give is no larger than their first input.
constexpr Kinds kKeepingBounds{
    "aten::relu",          "aten::hardswish",  "aten::silu",    "aten::gelu",
    "aten::flatten",       "aten::reshape",    "aten::view",    "aten::permute",
    "aten::transpose",     "aten::contiguous", "aten::squeeze", "aten::unsqueeze",
    "aten::expand",        "aten::to",         "aten::chunk",   "aten::split",
    "prim::ConstantChunk", "prim::ListUnpack", "aten::slice",   "aten::select",
    "aten::cat",           "aten::embedding"};
constexpr Kinds kMaxPools{kMaxPool, "aten::max_pool2d"};
constexpr Kinds kAverages{"aten::mean", "aten::avg_pool2d", "aten::adaptive_avg_pool2d"};
constexpr Kinds kUpToOne{"aten::sigmoid", "aten::hardsigmoid", "aten::tanh", "aten::softmax"};

// Their results have a type that is not among those of their inputs.
constexpr Kinds kCasts{"aten::to", "aten::mean", "aten::softmax"};

double largest_number(at::ScalarType type) {
  if (type == at::kFloat) return kLargestFloat;
  if (type == at::kBFloat16) return std::numeric_limits<c10::BFloat16>::max();
  return type == at::kHalf ? float{std::numeric_limits<c10::Half>::max()} : 0;  // not known here
}

// Not where it is NaN.
bool is_below(double bound, double largest) { return bound * kMargin <= largest; }

bool is_false(const Node* node, const char* name) {
  const auto given = constant(node, name);
  return given.isBool() && !given.toBool();
}

bool is_real(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.numel() > 0 &&
         (c10::isFloatingType(tensor.scalar_type()) ||
          c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true));
}

// NaN where the value is no constant of numbers.
at::Tensor magnitudes(const Value* value) {
  const auto known = torch::jit::toIValue(value).value_or(at::IValue());
  if (known.isInt() || known.isDouble()) {
    return at::scalar_tensor(known.toScalar(), at::kDouble).abs();
  }
  const bool is_known = known.isTensor() && is_real(known.toTensor());
  return is_known ? known.toTensor().to(at::kDouble).abs() : at::scalar_tensor(kNan, at::kDouble);
}

// Of the sums over these dimensions.
double largest_sum(const Value* weight, at::IntArrayRef dimensions) {
  const auto all = magnitudes(weight);
  if (all.dim() <= *std::ranges::max_element(dimensions)) return kUnknown;
  return all.sum(dimensions).max().item<double>();
}

double of_bias(const Node* node, const ValueBounds& bounds) {
  const auto* const bias = node->namedInput("bias");
  return is_none(bias) ? 0 : bounds.of(bias);
}

// [out, in, ...] are the weights.
double of_layer(const Node* node, const ValueBounds& bounds) {
  const bool may_transpose = is_a(node, {"aten::_convolution", "aten::convolution"});
  if (may_transpose && !is_false(node, "transposed")) return kUnknown;
  const auto weights = magnitudes(node->namedInput("weight"));
  if (weights.dim() < 2) return kUnknown;
  const auto gain = weights.flatten(1).sum(1).max().item<double>();
  return bounds.of(node->namedInput("input")) * gain + of_bias(node, bounds);
}

double of_addmm(const Node* node, const ValueBounds& bounds) {
  const auto product =
      bounds.of(node->namedInput("mat1")) * largest_sum(node->namedInput("mat2"), {0});
  return bounds.of(node->namedInput("beta")) * bounds.of(node->namedInput("self")) +
         bounds.of(node->namedInput("alpha")) * product;
}

// [groups, 16, in, 32] are the transformed weights. Each is multiplied with a sum of four pixels,
// and of the products a number takes each at most once.
double of_winograd(const Node* node, const ValueBounds& bounds) {
  constexpr double kPixels = 4;
  return kPixels * bounds.of(node->namedInput("input")) *
             largest_sum(node->namedInput("weight"), {1, 2}) +
         of_bias(node, bounds);
}

at::Tensor magnitudes_or(double missing, const Value* value) {
  return is_none(value) ? at::scalar_tensor(missing, at::kDouble) : magnitudes(value);
}

double of_batch_norm(const Node* node, const ValueBounds& bounds) {
  const auto eps = constant(node, "eps");
  const auto variance = constant(node, "running_var");
  if (!is_false(node, "training") || !eps.isDouble() || !variance.isTensor()) return kUnknown;
  // In the type that it is computed in, where a small `eps` may vanish.
  const auto variances = variance.toTensor().to(at::kFloat);
  if (!variances.ge(0).all().item<bool>()) return kUnknown;
  const auto scale = variances.add(eps.toDouble()).rsqrt().to(at::kDouble) *
                     magnitudes_or(1, node->namedInput("weight"));
  const auto centred =
      magnitudes(node->namedInput("running_mean")).add(bounds.of(node->namedInput("input")));
  const auto all = centred * scale + magnitudes_or(0, node->namedInput("bias"));
  return all.max().item<double>();
}

// A clamp of NaN is NaN.
double of_clamp(const Node* node, const ValueBounds& bounds) {
  if (!bounds.knows(node->input(0))) return kUnknown;
  if (is_a(node, {"aten::relu6"})) return 6;
  return std::max(bounds.of(node->input(1)), bounds.of(node->input(2)));
}

// A window may lie beside the image on both sides where it is dilated: minus infinity.
double of_max_pool(const Node* node, const ValueBounds& bounds) {
  const auto dilation = constant(node, "dilation");
  const bool is_dense = dilation.isIntList() && is_all(node, "dilation", 1);
  return is_dense ? bounds.of(node->input(0)) : kUnknown;
}

// They are sums first, of no more than all numbers.
double of_average(const Node* node, const ValueBounds& bounds) {
  const auto sizes = sizes_of(node->input(0));
  const bool has_divisor =
      is_a(node, {"aten::avg_pool2d"}) && !is_none(node->namedInput("divisor_override"));
  if (!sizes || has_divisor) return kUnknown;
  const auto count = std::accumulate(sizes->begin(), sizes->end(), 1.0, std::multiplies());
  const auto bound = bounds.of(node->input(0));
  const auto type = type_of(node->output());
  return type && is_below(bound * count, largest_number(*type)) ? bound : kUnknown;
}

// aten::pad, aten::constant_pad_nd: what is not constant padding repeats numbers of the input.
double of_pad(const Node* node, const ValueBounds& bounds) {
  const auto* const value = node->namedInput("value");
  return std::max(bounds.of(node->input(0)), is_none(value) ? 0 : bounds.of(value));
}

double of_arithmetic(const Node* node, const ValueBounds& bounds) {
  const auto first = bounds.of(node->input(0));
  const auto* const second = node->input(1);
  if (is_a(node, {"aten::mul"})) return first * bounds.of(second);
  if (is_a(node, {"aten::div"}) && node->inputs().size() == 2) {
    return first / magnitudes(second).to(at::kFloat).min().item<double>();
  }
  const bool is_sum = is_a(node, {"aten::add", "aten::sub"}) && node->inputs().size() == 3;
  return is_sum ? first + bounds.of(node->input(2)) * bounds.of(second) : kUnknown;
}

double of_list(const Node* node, const ValueBounds& bounds) {
  double largest = 0;
  for (const auto* element : node->inputs()) largest = std::max(largest, bounds.of(element));
  return largest;
}

double bound_of(const Node* node, const ValueBounds& bounds) {
  if (is_a(node, kKnownLayers)) return of_layer(node, bounds);
  if (is_a(node, {"aten::addmm"})) return of_addmm(node, bounds);
  if (is_a(node, {kWinograd})) return of_winograd(node, bounds);
  if (is_a(node, {kWinogradSum})) {
    return bounds.of(node->namedInput("other")) + of_winograd(node, bounds);
  }
  if (is_a(node, {"aten::batch_norm"})) return of_batch_norm(node, bounds);
  if (is_a(node, {"aten::relu6", "aten::hardtanh", "aten::clamp"})) return of_clamp(node, bounds);
  if (is_a(node, kMaxPools)) return of_max_pool(node, bounds);
  if (is_a(node, kAverages)) return of_average(node, bounds);
  if (is_a(node, {"aten::pad", "aten::constant_pad_nd"})) return of_pad(node, bounds);
  if (is_a(node, {"aten::add", "aten::sub", "aten::mul", "aten::div"})) {
    return of_arithmetic(node, bounds);
  }
  if (is_a(node, {"prim::ListConstruct"})) return of_list(node, bounds);
  const auto first = node->inputs().empty() ? kUnknown : bounds.of(node->input(0));
  if (is_a(node, kKeepingBounds)) return first;
  if (is_a(node, {"aten::dropout"})) return is_false(node, "train") ? first : kUnknown;
  if (is_a(node, {"aten::leaky_relu"})) return first * std::max(1.0, bounds.of(node->input(1)));
  if (is_a(node, kUpToOne) && first < kUnknown) return 1;
  return kUnknown;
}

// Where one is, what is known of a value may be of one that was there before.
bool writes(const Node* node) {
  const auto* const schema = node->maybeSchema();
  return schema != nullptr && schema->is_mutable() &&
         !is_a(node, {kWinogradSum});  // over what nobody reads any more
}

// So that each is read in one go, where it has no gaps.
at::Tensor in_order_of_memory(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor.as_strided({tensor.numel()}, {1}) : tensor;
}

}  // namespace

bool are_within_bounds(at::TensorList inputs) {
  return std::ranges::all_of(inputs, [](const at::Tensor& input) {
    if (!input.is_floating_point() || input.numel() == 0) return true;
    const auto [least, most] = at::aminmax(in_order_of_memory(input));  // NaN where one is
    return least.item<double>() >= -kLargestInput && most.item<double>() <= kLargestInput;
  });
}

ValueBounds::ValueBounds(torch::jit::Graph& graph) {
  if (std::ranges::any_of(all_nodes(graph.block()), writes)) return;
  for (const auto* input : graph.inputs()) {
    if (const auto type = type_of(input)) note(input, kLargestInput, largest_number(*type));
  }
  for (const auto* node : graph.nodes()) {
    if (is_a(node, {"prim::Constant"})) {
      const auto largest = largest_number(type_of(node->output()).value_or(at::kFloat));
      note(node->output(), magnitudes(node->output()).max().item<double>(),
           largest > 0 ? largest : kLargestFloat);
      continue;
    }
    for (const auto* output : node->outputs()) {
      note(output, bound_of(node, *this), largest_of(output));
    }
  }
}

double ValueBounds::of(const Value* value) const {
  const auto found = known_.find(value);
  return found == known_.end() ? kUnknown : found->second.bound;
}

void ValueBounds::note(const Value* value, double bound, double largest) {
  if (is_below(bound, largest)) known_.emplace(value, Known{bound, largest});
}

// Profiles do not show the type of each result: then it is one of its inputs' types.
double ValueBounds::largest_of(const Value* result) const {
  if (const auto type = type_of(result)) return largest_number(*type);
  if (is_a(result->node(), kCasts)) return 0;
  double largest = kLargestFloat;
  for (const auto* input : result->node()->inputs()) {
    const auto found = known_.find(input);
    if (found != known_.end()) largest = std::min(largest, found->second.largest);
  }
  return largest;
}

}  // namespace tally::graph_optimizer
