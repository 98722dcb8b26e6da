// SPDX-License-Identifier: Apache-2.0
#include <tally/model/passthrough_predictor.hpp>

namespace tally::model {
namespace {

class PassthroughPredictor final : public Predictor {
 public:
  Outputs predict(std::span<const TensorView> inputs) override { return {inputs.front()}; }
  const std::optional<ModelCard>& card() const override { return card_; }

 private:
  std::optional<ModelCard> card_;
};

}  // namespace

std::unique_ptr<Predictor> make_passthrough_predictor() {
  return std::make_unique<PassthroughPredictor>();
}

}  // namespace tally::model
