// What masters of both kinds do alike.
#pragma once

#include <memory>
#include <optional>

#include <tally/model/master.hpp>

#include "network.hpp"
#include "stream_scope.hpp"
#include "torch_predictor.hpp"
#include "weight_swap.hpp"

namespace tally::model {

class SwappingMaster : public Master {
 public:
  WeightFit fit(const weights::Checkpoint& checkpoint) override;
  void put(const std::string& name, const weights::StoredPart& part,
           std::span<const std::byte> bytes) override;
  void settle() override;
  std::size_t num_tensors() override { return swap().num_tensors(); }
  std::string tensor_digest(std::size_t tensor) override;

 protected:
  explicit SwappingMaster(PredictorOptions options) : options_(std::move(options)) {}

  // Error(model) where the weights are constants.
  virtual WeightSwap make_swap() const = 0;

  const PredictorOptions& options() const { return options_; }
  // Also what is done to the weights: no other stream waits for it.
  StreamScope scope() const { return {options_.device, options_.stream}; }
  void forget_swap() { swap_.reset(); }
  // The predictor of a network, which is replayed where the options allow that.
  std::unique_ptr<Predictor> predictor_of(std::unique_ptr<Network> network, Habits habits) const;

 private:
  WeightSwap& swap();

  PredictorOptions options_;
  std::optional<WeightSwap> swap_;
  // Of the model's own file: a checkpoint that leaves them out must not get another one's.
  std::optional<std::map<std::string, at::Tensor>> own_values_;
};

}  // namespace tally::model
