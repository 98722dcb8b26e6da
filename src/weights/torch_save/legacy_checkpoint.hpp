// Files of torch.save before PyTorch 1.6: five pickles, then the storages one after the other.
#pragma once

#include <string_view>

#include "weights_reader.hpp"

namespace tally::weights {

bool looks_like_legacy_checkpoint(const ByteSource& bytes);

// As read_zip_checkpoint(). Throws FormatError.
StoredWeights read_legacy_checkpoint(const ByteSource& bytes, std::string_view key);

}  // namespace tally::weights
