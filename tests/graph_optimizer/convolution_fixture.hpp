// SPDX-License-Identifier: Apache-2.0
// Graphs of one convolution, which ours may take the place of, and what they are compared with.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/constants.h>

#include "kernels/winograd.hpp"
#include "kernels/winograd_pass.hpp"
#include "onednn/profiled_graph.hpp"

namespace tally::graph_optimizer {

using Numbers = std::vector<std::int64_t>;

inline at::Tensor channels_last(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

// Enough tiles of whatever image.
inline const Numbers kManyImages{1'000, 64, 8, 8};

struct Layer {
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  Numbers padding{1, 1};
  Numbers stride{1, 1};
  Numbers dilation{1, 1};
  std::int64_t groups = 1;

  Layer(std::int64_t channels, std::int64_t out_channels) : Layer(channels, out_channels, {3, 3}) {}
  Layer(std::int64_t channels, std::int64_t out_channels, const std::array<std::int64_t, 2>& window)
      : weight(at::randn({out_channels, channels, window[0], window[1]}) *
               std::sqrt(2.0 / static_cast<double>(window[0] * window[1] * channels))),
        bias(at::randn({out_channels})) {}

  at::Tensor exact(const at::Tensor& x) const {
    const auto wide_bias = bias ? std::optional(bias->to(at::kDouble)) : std::nullopt;
    return at::conv2d(x.to(at::kDouble), weight.to(at::kDouble), wide_bias, stride, padding,
                      dilation, groups);
  }
  at::Tensor direct(const at::Tensor& x) const {
    return at::conv2d(x, weight, bias, stride, padding, dilation, groups);
  }
};

struct Around {
  bool sum = false;    // over the graph's first input
  std::string relu{};  // in the end, by this name
  bool is_read_twice = false;
  bool bias_is_input = false;  // the last one
};

// A profiled graph of one convolution, which one of ours is to take the place of.
class Convolved {
 public:
  explicit Convolved(const Layer& layer, const Around& around = {},
                     const Numbers& input_size = kManyImages)
      : graph_(std::make_shared<torch::jit::Graph>()),
        type_(c10::TensorType::createContiguous(at::kFloat, at::kCPU, input_size)) {
    auto* const other = around.sum ? append("aten::sigmoid", {append_input()}) : nullptr;
    auto* const convolved = append_convolution(layer, around.bias_is_input);
    auto* result = around.sum ? append_sum(convolved, other) : convolved;
    auto* const twice = result;
    if (!around.relu.empty()) result = append(around.relu, {result});
    graph_->registerOutput(result);
    if (around.is_read_twice) graph_->registerOutput(append("aten::neg", {twice}));
    is_replaced_ = run_winograd_pass(*graph_) > 0;
    code_.emplace(graph_, "f");
  }

  bool is_replaced() const { return is_replaced_; }
  std::string text() const { return graph_->toString(); }

  // The first result.
  at::Tensor operator()(const std::vector<at::IValue>& inputs) {
    const c10::InferenceMode guard;
    const auto results = run_code(*code_, inputs);
    return results.isTensor() ? results.toTensor() : results.toTupleRef().elements()[0].toTensor();
  }

 private:
  using Value = torch::jit::Value;

  Value* append_input() {
    auto* const input = graph_->addInput();
    input->setType(type_);
    return input;
  }

  Value* append(const std::string& kind, const std::vector<Value*>& inputs) {
    auto* const made = graph_->create(c10::Symbol::fromQualString(kind), inputs);
    return graph_->insertNode(made)->output()->setType(type_);
  }

  Value* append(const std::string& kind, std::vector<Value*> inputs,
                const std::vector<at::IValue>& settings) {
    for (const auto& setting : settings) inputs.push_back(graph_->insertConstant(setting));
    return append(kind, inputs);
  }

  Value* append_convolution(const Layer& layer, bool bias_is_input) {
    auto* const input = append_input();
    auto* const weight = graph_->insertConstant(layer.weight);
    auto* const bias = bias_is_input ? append_input() : graph_->insertConstant(layer.bias);
    return append("aten::conv2d", {input, weight, bias},
                  {layer.stride, layer.padding, layer.dilation, layer.groups});
  }

  Value* append_sum(Value* left, Value* right) {
    return append("aten::add", {left, right}, {at::IValue(1)});
  }

  std::shared_ptr<torch::jit::Graph> graph_;
  c10::TensorTypePtr type_;
  std::optional<torch::jit::Code> code_;
  bool is_replaced_ = false;
};

inline double root_mean_square(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).square().mean().sqrt().item<double>();
}

inline double largest_error(const at::Tensor& found, const at::Tensor& exact) {
  return (found.to(at::kDouble) - exact).abs().max().item<double>();
}

// LibTorch draws anew in each process: rounding then passes a bound now and then.
constexpr std::uint64_t kSeed = 1;

class Winograd : public testing::Test {
 protected:
  void SetUp() override {
    if (winograd_lanes() == 0) GTEST_SKIP() << "this processor has no AVX2";
    at::manual_seed(kSeed);
  }
};

}  // namespace tally::graph_optimizer
