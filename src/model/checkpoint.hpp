// Files of torch.save since PyTorch 1.6: a zip with a pickle and one entry per storage.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stored_tensor.hpp"

namespace tally::model {

// The tensors of the state_dict at `key` (read_state_dict). Throws FormatError.
StoredWeights read_checkpoint(std::span<const std::byte> bytes, std::string_view key);

// "resnet.ResNet" if the file is a pickled object (a whole module), none if it holds plain data.
// Throws FormatError.
std::optional<std::string> pickled_class(std::span<const std::byte> bytes);

}  // namespace tally::model
