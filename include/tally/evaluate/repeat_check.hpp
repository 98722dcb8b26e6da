// SPDX-License-Identifier: Apache-2.0
// Checks whether a model gives the same scores for the same batch twice.
#pragma once

#include <cstdint>
#include <span>

#include <tally/data/data_set.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/model/predictor.hpp>

namespace tally::evaluate {

// Runs the first samples of the data set through preparation and model, twice from the same bytes,
// and compares the bits of all outputs: a few samples, or `batch_size` where the model takes no
// other number. Not collective; the data set is used by nothing else meanwhile. Throws what reading
// and the model throw.
bool repeats(data::DataSet& data_set, std::int64_t batch_size, std::span<InputBinding> bindings,
             model::Predictor& predictor, const device::Stream& stream);

}  // namespace tally::evaluate
