// SPDX-License-Identifier: Apache-2.0
// Small networks that oneDNN Graph compiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/Version.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "cpu_module.hpp"
#include "onednn/onednn_fuser.hpp"
#include "script_net.hpp"

namespace tally::graph_optimizer {

class OnednnGraphTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  static constexpr std::int64_t kChannels = 16;

  void SetUp() override {
    const bool takes_16_bits = at::get_cpu_capability() == "AVX512";
    if (!has_onednn_fuser() || (GetParam() != at::kFloat && !takes_16_bits)) {
      GTEST_SKIP() << "oneDNN Graph takes no such numbers here";
    }
    at::set_num_threads(1);
    at::manual_seed(1);
  }
  void TearDown() override { at::set_num_threads(threads_); }

  static at::TensorOptions type() { return at::TensorOptions(GetParam()); }
  static at::Tensor images(std::int64_t count) {
    return at::randn({count, kChannels, 8, 8})
        .contiguous(at::MemoryFormat::ChannelsLast)
        .to(GetParam());
  }
  // Of four convolutions of 1x1, w1 to w4, and a last layer.
  static NamedWeights weights() {
    NamedWeights named;
    for (int i = 1; i <= 4; ++i) {
      named.emplace_back("w" + std::to_string(i),
                         (at::randn({kChannels, kChannels, 1, 1}) * 0.25).to(type()));
      named.emplace_back("b" + std::to_string(i), (at::rand({kChannels}) + 0.1).to(type()));
    }
    named.emplace_back("w", (at::randn({10, kChannels}) * 0.25).to(type()));
    named.emplace_back("b", (at::rand({10}) + 0.1).to(type()));
    named.emplace_back("ones", at::ones({kChannels}, type()));
    named.emplace_back("depthwise", at::randn({kChannels, 1, 3, 3}).to(type()));
    return named;
  }
  // Rounding, as a share of the largest score.
  static double rounding() { return GetParam() == at::kFloat ? 1e-5 : 0.05; }

 private:
  int threads_ = at::get_num_threads();
};

inline at::Tensor plain_scores(const torch::jit::Module& net, const at::Tensor& x) {
  const c10::InferenceMode guard;
  const torch::jit::GraphOptimizerEnabledGuard fixed_graph(false);
  return torch::jit::Module(net).forward({x}).toTensor();
}

// A network that was warmed up.
class Compiled {
 public:
  Compiled(const torch::jit::Module& net, const at::Tensor& x,
           const std::string& form = "oneDNN Graph")
      : module_(net, in_order, "net.pt", CpuKernels::automatic) {
    const c10::InferenceMode guard;
    module_.warm_up({x});
    EXPECT_THAT(module_.form(),
                testing::AnyOf(testing::EndsWith(form), testing::HasSubstr(form + " for inputs")));
    EXPECT_THAT(module_.notes(), testing::IsEmpty());
  }
  at::Tensor operator()(const at::Tensor& x) {
    const c10::InferenceMode guard;
    return module_.run({x}).toTensor();
  }

 private:
  CpuModule module_;
};

inline double error_of(const at::Tensor& found, const at::Tensor& expected) {
  const auto difference = (found.to(at::kDouble) - expected.to(at::kDouble)).abs().max();
  return (difference / expected.to(at::kDouble).abs().max()).item<double>();
}

// Puts one part after the other in the place of "{}".
inline std::string fill(std::string text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) text.replace(text.find("{}"), 2, part);
  return text;
}

// All samples but one.
inline void expect_finite(const at::Tensor& scores, std::int64_t but_for) {
  for (std::int64_t i = 0; i < scores.size(0); ++i) {
    EXPECT_EQ(at::isfinite(scores[i]).all().item<bool>(), i != but_for) << i;
  }
}

}  // namespace tally::graph_optimizer
