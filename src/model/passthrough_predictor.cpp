// SPDX-License-Identifier: Apache-2.0
#include <tally/model/passthrough_predictor.hpp>

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>

namespace tally::model {
namespace {

class PassthroughPredictor final : public Predictor {
 public:
  Outputs predict(std::span<const TensorView> inputs) override {
    const TensorView& scores = inputs.front();
    const bool has_classes = scores.dtype == DType::f32 && scores.shape.size() == 2;
    if (excluded_.empty() || !has_classes) return {scores};
    return {with_exclusions(scores)};
  }
  void exclude_classes(const std::vector<std::int64_t>& classes) override { excluded_ = classes; }
  const std::optional<ModelCard>& card() const override { return card_; }

 private:
  // A copy: what was read is not this object's to change.
  TensorView with_exclusions(const TensorView& scores) {
    const std::int64_t rows = scores.shape[0], classes = scores.shape[1];
    copy_.resize(to_size(rows * classes));
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const from = scores.as<const float>() + row * scores.strides[0];
      float* const to = copy_.data() + row * classes;
      for (std::int64_t i = 0; i < classes; ++i) to[i] = from[i * scores.strides[1]];
      for (const std::int64_t i : excluded_) to[i] = -std::numeric_limits<float>::infinity();
    }
    return contiguous_view(copy_.data(), DType::f32, scores.shape);
  }

  std::optional<ModelCard> card_;
  std::vector<std::int64_t> excluded_;
  std::vector<float> copy_;
};

}  // namespace

std::unique_ptr<Predictor> make_passthrough_predictor() {
  return std::make_unique<PassthroughPredictor>();
}

}  // namespace tally::model
