// SPDX-License-Identifier: Apache-2.0
// A network whose forward passes are work of a stream of the simulated GPU.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <tally/device/buffer.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/model/predictor.hpp>

namespace simulated_gpu {

// LibTorch computes on the CPU, and there its tensors lie (torch_device_and_stream.cpp); what the
// network is given and what it returns lies in memory of the simulated GPU, and it runs when its
// turn in the stream comes. What shapes it returns is asked of it before, with zeros, so that
// networks that keep state give other scores.
class QueuedPredictor final : public tally::model::Predictor {
 public:
  using Outputs = tally::model::Outputs;

  QueuedPredictor(std::unique_ptr<tally::model::Predictor> network, tally::device::Device device,
                  void* stream);

  Outputs predict(std::span<const tally::TensorView> inputs) override;
  // Waits for the stream, as the loading of kernels does on a GPU.
  Outputs warm_up(std::span<const tally::TensorView> inputs) override;

  void use(const tally::model::CpuExecutionSettings& way) override { network_->use(way); }
  const std::optional<tally::model::ModelCard>& card() const override { return network_->card(); }
  std::vector<std::string> argument_names() const override { return network_->argument_names(); }
  std::string form() const override { return network_->form(); }
  std::vector<std::string> notes() const override { return network_->notes(); }
  tally::model::Determinism determinism() const override { return network_->determinism(); }
  tally::DType input_dtype(std::size_t input) const override {
    return network_->input_dtype(input);
  }

 private:
  using Shapes = std::vector<std::vector<std::int64_t>>;
  struct Output {
    std::vector<std::int64_t> shape;
    tally::DType dtype;
  };

  // What the network returns for inputs of these shapes, found by a run over zeros.
  const std::vector<Output>& outputs_for(std::span<const tally::TensorView> inputs);
  void remember(std::span<const tally::TensorView> inputs, const Outputs& found);
  Outputs views_of(const std::vector<Output>& outputs);
  void enqueue(std::span<const tally::TensorView> inputs, const Outputs& views);

  std::unique_ptr<tally::model::Predictor> network_;
  tally::device::Device device_;
  void* stream_;
  std::map<Shapes, std::vector<Output>> outputs_;
  std::vector<tally::device::DeviceBuffer> memory_;  // of each output, for the largest batch
};

// Its predictors are queued ones.
std::unique_ptr<tally::model::LoadedModel> queued(std::unique_ptr<tally::model::LoadedModel> loaded,
                                                  const tally::model::PredictorOptions& options);

}  // namespace simulated_gpu
