// Files of torch.save before PyTorch 1.6: five pickles, then the storages one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "stored_tensor.hpp"

namespace tally::model {

bool looks_like_legacy_checkpoint(std::span<const std::byte> bytes);

// As read_checkpoint(). Throws FormatError.
StoredWeights read_legacy_checkpoint(std::span<const std::byte> bytes, std::string_view key);

}  // namespace tally::model
