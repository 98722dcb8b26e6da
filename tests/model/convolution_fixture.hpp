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
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include "fuse_convolutions.hpp"
#include "narrow.hpp"
#include "pool_without_indices.hpp"
#include "use_narrow.hpp"
#include "use_winograd.hpp"
#include "winograd.hpp"

namespace tally::model {

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

// aten::max_pool2d's.
struct Pool {
  Numbers size{2, 2};
  Numbers stride{2, 2};
  Numbers padding{0, 0};
  Numbers dilation{1, 1};
  bool ceil_mode = false;
};

struct Around {
  bool sum = false;    // over the graph's first input
  std::string relu{};  // after the sum, by this name; or in the convolution
  bool is_read_twice = false;
  bool bias_is_input = false;  // the last one
  std::optional<Pool> pool{};
};

inline at::IValue scalars(std::vector<at::IValue> numbers) {
  c10::impl::GenericList list(c10::OptionalType::create(c10::NumberType::get()));
  for (const auto& number : numbers) list.push_back(number);
  return list;
}

// A convolution in oneDNN's form, the last but for what is around it.
inline torch::jit::Node* append_convolution(torch::jit::Graph& graph, const Layer& layer,
                                            const Around& around) {
  std::vector<torch::jit::Value*> inputs;
  if (around.sum) inputs.push_back(graph.addInput());
  inputs.push_back(graph.addInput());
  inputs.push_back(graph.insertConstant(layer.weight));
  inputs.push_back(around.bias_is_input ? graph.addInput() : graph.insertConstant(layer.bias));
  for (const at::IValue& value : {at::IValue(layer.padding), at::IValue(layer.stride),
                                  at::IValue(layer.dilation), at::IValue(layer.groups)}) {
    inputs.push_back(graph.insertConstant(value));
  }
  const at::IValue none;
  const std::vector<at::IValue> sum{"add", 1.0, none, scalars({}), none};
  const std::vector<at::IValue> relu{kFusedRelu, scalars({1e-30}), none};
  const std::vector<at::IValue> plain{"none", scalars({}), none};
  const bool has_relu = !around.relu.empty();
  for (const auto& value : around.sum ? sum : has_relu ? relu : plain) {
    inputs.push_back(graph.insertConstant(value));
  }
  return graph.insertNode(
      graph.create(c10::Symbol::fromQualString(around.sum ? kFusedSum : kFused), inputs));
}

// A graph of one convolution, which one of ours is to take the place of.
class Convolved {
 public:
  explicit Convolved(const Layer& layer, const Around& around = {},
                     const Numbers& input_size = kManyImages)
      : graph_(std::make_shared<torch::jit::Graph>()) {
    auto* node = append_convolution(*graph_, layer, around);
    auto* result = node->output();
    if (around.is_read_twice) result = append("aten::relu", {result});
    if (around.sum && !around.relu.empty()) result = append(around.relu, {node->output()});
    if (around.pool) result = append_pool(*around.pool, result);
    graph_->registerOutput(result);
    pool_without_indices(*graph_);
    is_replaced_ = use_winograd(*graph_, node, input_size) || use_narrow(*graph_, node, input_size);
    function_.emplace("f", graph_, nullptr);
  }

  bool is_replaced() const { return is_replaced_; }
  std::string text() const { return graph_->toString(); }

  at::Tensor operator()(const std::vector<at::IValue>& inputs) {
    const c10::InferenceMode guard;
    return (*function_)(inputs).toTensor();
  }

 private:
  torch::jit::Value* append(const std::string& kind,
                            const std::vector<torch::jit::Value*>& inputs) {
    return graph_->insertNode(graph_->create(c10::Symbol::fromQualString(kind), inputs))->output();
  }

  torch::jit::Value* append_pool(const Pool& pool, torch::jit::Value* value) {
    std::vector<torch::jit::Value*> inputs{value};
    for (const at::IValue& setting :
         {at::IValue(pool.size), at::IValue(pool.stride), at::IValue(pool.padding),
          at::IValue(pool.dilation), at::IValue(pool.ceil_mode)}) {
      inputs.push_back(graph_->insertConstant(setting));
    }
    return append("aten::max_pool2d", inputs);
  }

  std::shared_ptr<torch::jit::Graph> graph_;
  std::optional<torch::jit::GraphFunction> function_;
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

class Narrow : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_narrow_convolution()) GTEST_SKIP() << "this processor has no AVX2";
    at::manual_seed(kSeed);
  }
};

}  // namespace tally::model
