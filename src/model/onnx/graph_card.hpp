// SPDX-License-Identifier: Apache-2.0
// The card of a network whose graph says what it takes and returns (ONNX, OpenVINO).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <tally/model/card.hpp>
#include <tally/openvino/network.hpp>

namespace tally::model {

// Where an input of the card goes in the graph.
struct GraphInput {
  std::size_t port = 0;
  // The graph takes [batch, height, width, channels], as TensorFlow's do; the card says what Tally
  // hands over, [batch, channels, height, width].
  bool channels_last = false;
};

// Where an output of the card comes from.
struct GraphOutput {
  std::size_t port = 0;
  // The graph returns [batch, classes, 1, 1], as classifiers by convolutions alone do; the card
  // says [batch, classes].
  bool drops_ones = false;
};

struct GraphCard {
  ModelCard card;
  std::vector<GraphInput> inputs;    // in the order of the card
  std::vector<GraphOutput> outputs;  // in the order of the card
};

// With `given`, a written card, that one, whose inputs and outputs are found by name
// (or by it with "_" for what names of a data set may not have, as a card of the graph has it);
// without, one of the graph alone. Error(model) naming `model` where the two do not agree, or where
// the graph takes or returns something that is not a row for each sample.
GraphCard match_card(const openvino::Network& network, const std::optional<ModelCard>& given,
                     std::string_view model);

}  // namespace tally::model
