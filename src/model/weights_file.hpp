// Weights from any file that holds some.
#pragma once

#include <string_view>

#include <tally/model/predictor.hpp>

#include "stored_tensor.hpp"

namespace tally::model {

// The tensors of a state_dict, checkpoint or safetensors file; they point into `file.bytes`. `key`
// says where in a checkpoint they are. Throws Error(model) naming the file.
StoredWeights read_weights(const NamedBytes& file, std::string_view key);

}  // namespace tally::model
