// SPDX-License-Identifier: Apache-2.0
// Predictors without a model, for tests of what takes a Predictor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/model/predictor.hpp>

namespace tally::model {

// Score of a class for a sample whose first value, of its first input, is `first_value`.
using ScoreFunction = std::function<float(float first_value, std::int64_t class_index)>;

inline float element(const TensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::u8:
      return view.as<const std::uint8_t>()[offset];
    case DType::i32:
      return static_cast<float>(view.as<const std::int32_t>()[offset]);
    case DType::i64:
      return static_cast<float>(view.as<const std::int64_t>()[offset]);
    case DType::f32:
      return view.as<const float>()[offset];
    case DType::f64:
      return static_cast<float>(view.as<const double>()[offset]);
    default:
      throw Error(ErrorKind::model, "a test predictor does not read this element type");
  }
}

class FunctionPredictor final : public Predictor {
 public:
  FunctionPredictor(std::int64_t num_classes, ScoreFunction score)
      : num_classes_(num_classes), score_(std::move(score)) {}

  Outputs predict(std::span<const TensorView> inputs) override {
    const auto& input = inputs.front();
    const auto rows = input.shape.front();
    scores_.resize(to_size(rows * num_classes_));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto value = element(input, row * input.strides.front());
      for (std::int64_t c = 0; c < num_classes_; ++c) {
        scores_[to_size(row * num_classes_ + c)] = score_(value, c);
      }
    }
    return {contiguous_view(scores_.data(), DType::f32, {rows, num_classes_})};
  }

  const std::optional<ModelCard>& card() const override { return card_; }

 private:
  std::int64_t num_classes_;
  ScoreFunction score_;
  std::optional<ModelCard> card_;
  std::vector<float> scores_;  // [rows, num_classes]
};

class FailingPredictor final : public Predictor {
 public:
  FailingPredictor(std::unique_ptr<Predictor> inner, std::int64_t failing_call)
      : inner_(std::move(inner)), failing_call_(failing_call) {}

  Outputs predict(std::span<const TensorView> inputs) override {
    const auto call = num_calls_++;
    if (call >= failing_call_) {
      throw Error(ErrorKind::model, format("the model failed at call {}, as it was told to", call));
    }
    return inner_->predict(inputs);
  }

  const std::optional<ModelCard>& card() const override { return inner_->card(); }
  DType input_dtype(std::size_t input) const override { return inner_->input_dtype(input); }

 private:
  std::unique_ptr<Predictor> inner_;
  std::int64_t failing_call_;
  std::int64_t num_calls_ = 0;
};

// Returns [rows, num_classes]. The first input is uint8, int32, int64, float32 or float64.
inline std::unique_ptr<Predictor> make_function_predictor(std::int64_t num_classes,
                                                          ScoreFunction score) {
  return std::make_unique<FunctionPredictor>(num_classes, std::move(score));
}

// Passes everything on to `inner`, but throws Error(model) at call number `failing_call`, counted
// from 0 (a warm-up is a call), and at all later ones.
inline std::unique_ptr<Predictor> make_failing_predictor(std::unique_ptr<Predictor> inner,
                                                         std::int64_t failing_call) {
  return std::make_unique<FailingPredictor>(std::move(inner), failing_call);
}

}  // namespace tally::model
