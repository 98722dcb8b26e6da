// SPDX-License-Identifier: Apache-2.0
// Decides which input of the data set becomes which input of the model, and what is done to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/base/image_recipe.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/data/data_set.hpp>
#include <tally/device/stream.hpp>
#include <tally/model/card.hpp>
#include <tally/model/predictor.hpp>
#include <tally/preprocess/normaliser.hpp>

namespace tally::evaluate {

// One argument of the model.
struct InputBinding {
  std::size_t source = 0;                             // index into Batch::inputs
  std::unique_ptr<preprocess::Normaliser> normalise;  // none: passed as it is
};

struct InputMapping {
  std::vector<InputBinding> bindings;  // in the order of the model's arguments
  std::vector<std::string> notes;  // what the user should know, e.g. two different normalisations
  std::optional<ImageRecipes> recipes;  // of the first input of images
};

// By the predictor's card and its input names; where card and data set have one input each, that
// one. Without a card by the names of the model's arguments where these tell, else in the data
// set's order. Images become the type that the predictor wants. The card's normalisation wins over
// the data set's. Error(model) when an input is missing or its shape, element type, number of
// classes or fixed batch size does not fit the data set. On a CPU `threads` share the preparation
// of a batch.
InputMapping map_inputs(const data::DataSetInfo& info, const model::Predictor& predictor,
                        std::int64_t batch_size, const device::Device& device, int threads = 1);

// Enqueues the preparation of one batch, which lies on the stream's device. The model's arguments:
// views of the batch or of the bindings' buffers.
std::vector<TensorView> prepare(const data::Batch& batch, std::span<InputBinding> bindings,
                                const device::Stream& stream);

}  // namespace tally::evaluate
