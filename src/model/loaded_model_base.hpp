// SPDX-License-Identifier: Apache-2.0
// Common base of loaded models: replacing their weights, and CUDA graphs.
#pragma once

#include <memory>
#include <optional>

#include <tally/libtorch/torch_device_and_stream.hpp>
#include <tally/model/loaded_model.hpp>

#include "network.hpp"
#include "state_dict/weight_loader.hpp"
#include "torch_predictor.hpp"

namespace tally::model {

class LoadedModelBase : public LoadedModel {
 public:
  StateDictMatch match_state_dict(const weights::Checkpoint& checkpoint) override;
  void copy_tensor_part(const std::string& name, const weights::StoredPart& part,
                        std::span<const std::byte> bytes) override;
  void commit() override;
  std::size_t num_tensors() override { return loader().num_tensors(); }
  std::string tensor_digest(std::size_t tensor) override;

 protected:
  explicit LoadedModelBase(PredictorOptions options) : options_(std::move(options)) {}

  // Error(model) where the weights are constants.
  virtual WeightLoader make_loader() const = 0;

  const PredictorOptions& options() const { return options_; }
  // Also what is done to the weights: no other stream waits for it.
  libtorch::StreamScope scope() const { return {options_.device, options_.stream}; }
  void forget_loader() { loader_.reset(); }
  // The predictor of a network, which is replayed where the options allow that.
  std::unique_ptr<Predictor> predictor_of(std::unique_ptr<Network> network,
                                          InputConventions habits) const;

 private:
  WeightLoader& loader();

  PredictorOptions options_;
  std::optional<WeightLoader> loader_;
  // Of the model's own file: a checkpoint that leaves them out must not get another one's.
  std::optional<std::map<std::string, at::Tensor>> own_values_;
};

}  // namespace tally::model
