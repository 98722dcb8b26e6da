// SPDX-License-Identifier: Apache-2.0
// The Predictor of a network in torch's hands, whatever file it came from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include <tally/model/predictor.hpp>

#include "network.hpp"

namespace tally::model {

// How a network wants its inputs, and how its outputs are handed out.
struct InputConventions {
  std::optional<ModelCard> card;  // the one to go by
  // What floating-point inputs are cast to; none: to what the card says.
  std::optional<c10::ScalarType> floating;
  // A compiled network reads memory as it was told to, and looks at no strides.
  bool fixed_layout = false;
  bool channels_last = false;                    // with a fixed layout: of four-dimensional inputs
  std::vector<std::string> notes = {};           // of loading it; see Predictor::notes()
  std::vector<std::string> argument_names = {};  // see Predictor::argument_names()
  Determinism determinism = {};                  // see Predictor::determinism()
  bool keeps_bfloat16 = false;                   // see PredictorOptions
  ModelFormat format = ModelFormat::torchscript;
  // The network takes the places that are to be scored behind its inputs (ScriptModule).
  bool scores_at_places = false;
};

std::unique_ptr<Predictor> make_torch_predictor(std::unique_ptr<Network> network,
                                                InputConventions habits,
                                                const device::Device& device, void* stream);

}  // namespace tally::model
