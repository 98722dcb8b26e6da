// Predictors without a model: for tests of whatever takes a Predictor, and for scores that are
// there already.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <tally/model/predictor.hpp>

namespace tally::model {

// Score of a class for a sample whose first value, of its first input, is `first_value`.
using ScoreFunction = std::function<float(float first_value, std::int64_t class_index)>;

// Returns [rows, num_classes]. The first input is uint8, int32, int64, float32 or float64.
std::unique_ptr<Predictor> make_function_predictor(std::int64_t num_classes, ScoreFunction score);

// Returns its first input.
std::unique_ptr<Predictor> make_passthrough_predictor();

// Passes everything on to `inner`, but throws Error(model) at call number `failing_call`, counted
// from 0 (a warm-up is a call), and at all later ones.
std::unique_ptr<Predictor> make_failing_predictor(std::unique_ptr<Predictor> inner,
                                                  std::int64_t failing_call);

}  // namespace tally::model
