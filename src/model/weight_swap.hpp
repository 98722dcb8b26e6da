// Replaces a model's weights by those of another file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/model/predictor.hpp>

#include "network.hpp"

namespace tally::model {

struct WeightTargets {
  std::string model;                 // name of the file, for messages
  std::vector<NamedTensor> tensors;  // writing to them changes the model
  // Names that no file need hold: buffers that are in no state_dict.
  std::vector<std::string> fixed_buffers;
};

// All or nothing: Error(model) names what is missing, unexpected or of another shape or type, the
// first ten of each, and then the model is as it was. Conversions between floating-point types and
// prefixes taken off are noted.
void swap_weights(const WeightTargets& model, const NamedBytes& file, std::string_view key);

// For a model whose weights nobody can reach.
Error frozen_weights(std::string_view model, std::string_view next_step);

}  // namespace tally::model
