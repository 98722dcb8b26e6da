// SPDX-License-Identifier: Apache-2.0
// A network of a graph that OpenVINO compiles for the shapes of the batches.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tally/openvino/network.hpp>

#include "network.hpp"
#include "onnx/graph_card.hpp"

namespace tally::model {

class OnnxNetwork final : public Network {
 public:
  // `type`: what its floating-point operators compute in, float32 or bfloat16.
  OnnxNetwork(std::string name, std::shared_ptr<const openvino::Network> network, GraphCard card,
              int threads, DType type);

  const std::string& name() const override { return name_; }
  // Compiled anew for another number of rows, or another shape of a floating-point input; sizes of
  // integers that may vary, the tokens of texts, stay open. So the bits depend on the batch alone,
  // not on those before it. Of all threads each call takes as many as torch has on its own thread.
  Tensors run(Tensors inputs) override;
  Tensors warm_up(Tensors inputs) override;
  std::optional<TriedSamples> try_samples(const Tensors& inputs) override;
  std::string form() const override;

 private:
  struct Compiled {
    std::vector<Shape> shapes;
    int threads = 0;  // of a call
    std::shared_ptr<openvino::CompiledNetwork> network;
  };

  Tensors in_order_of_graph(const Tensors& inputs) const;
  std::vector<Shape> shapes_to_compile(const Tensors& inputs) const;
  std::shared_ptr<openvino::CompiledNetwork> compile(const std::vector<Shape>& shapes,
                                                     int threads) const;
  std::shared_ptr<openvino::CompiledNetwork> compiled_for(const Tensors& inputs);
  Tensors outputs_of(openvino::CompiledNetwork& network, const Tensors& given) const;
  std::int64_t micro_batch_size(std::vector<Shape> shapes) const;

  std::string name_;
  std::shared_ptr<const openvino::Network> network_;
  GraphCard card_;
  int threads_;
  DType type_;
  std::mutex mutex_;   // of compiled_
  Compiled compiled_;  // for the last shapes
  Compiled tried_;     // for a few samples, of any number: before the loop, on one thread
};

}  // namespace tally::model
