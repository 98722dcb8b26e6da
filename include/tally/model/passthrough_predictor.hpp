// SPDX-License-Identifier: Apache-2.0
// This predictor hands on scores that are there already.
#pragma once

#include <memory>

#include <tally/model/predictor.hpp>

namespace tally::model {

// Returns its first input.
std::unique_ptr<Predictor> make_passthrough_predictor();

}  // namespace tally::model
