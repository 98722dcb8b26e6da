// SPDX-License-Identifier: Apache-2.0
// A network that is played, whose batches are cut.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "batch_parallel_network.hpp"

namespace tally::model {

struct Scene {
  std::function<at::Tensor(const Tensors&)> function = [](const Tensors& inputs) {
    return inputs[0] * 2;
  };
  bool has_two_outputs = false;
  bool tries_samples = true;
  bool writes_over_inputs = false;
  std::int64_t micro_batch_size = 8;
  std::int64_t least_rows = 1;
  CpuExecutionSettings used;  // see Network::use()
  std::mutex mutex;
  std::vector<std::int64_t> rows;  // of each call
  std::vector<int> operator_threads;
  std::set<std::thread::id> callers;
};

class PlayedNetwork final : public Network {
 public:
  explicit PlayedNetwork(Scene& scene) : scene_(scene) {}
  const std::string& name() const override { return name_; }
  std::string form() const override { return "played"; }
  std::int64_t least_rows() const override { return scene_.least_rows; }
  void use(const CpuExecutionSettings& way) override { scene_.used = way; }
  std::vector<CpuKernels> other_kernels() const override { return {CpuKernels::own}; }

  std::optional<TriedSamples> try_samples(const Tensors& inputs) override {
    if (!scene_.tries_samples) return std::nullopt;
    return TriedSamples{scores_of(inputs), scene_.micro_batch_size, scene_.writes_over_inputs};
  }

  Tensors run(Tensors inputs) override {
    {
      const std::scoped_lock lock(scene_.mutex);
      scene_.rows.push_back(inputs[0].size(0));
      scene_.operator_threads.push_back(at::get_num_threads());
      scene_.callers.insert(std::this_thread::get_id());
    }
    return scores_of(inputs);
  }

 private:
  Tensors scores_of(const Tensors& inputs) const {
    const auto output = scene_.function(inputs);
    return scene_.has_two_outputs ? Tensors{output, output.sum(1) + 1} : Tensors{output};
  }

  Scene& scene_;
  std::string name_ = "net.pt";
};

class SplitTest : public testing::Test {
 protected:
  // Runs a warmed up batch, and forgets what the warm-up did.
  at::Tensor run(int threads, std::int64_t batch_size) {
    network_ =
        std::make_unique<BatchParallelNetwork>(std::make_unique<PlayedNetwork>(scene), threads);
    network_->warm_up({batch(batch_size)});
    forget();
    return network_->run({batch(batch_size)}).front();
  }

  void forget() {
    scene.rows.clear();
    scene.operator_threads.clear();
    scene.callers.clear();
  }

  static at::Tensor batch(std::int64_t size) { return at::arange(size * 3).reshape({size, 3}); }

  BatchParallelNetwork& network() { return *network_; }

  Scene scene;

 private:
  std::unique_ptr<BatchParallelNetwork> network_;
};

}  // namespace tally::model
