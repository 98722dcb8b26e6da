// The safetensors format: u64 length, JSON header, raw bytes.
// https://huggingface.co/docs/safetensors/index#format
#pragma once

#include <cstddef>
#include <span>

#include "stored_tensor.hpp"

namespace tally::model {

bool looks_like_safetensors(std::span<const std::byte> bytes);

// Throws FormatError naming the tensor that is malformed, of an unknown type, out of bounds or
// overlapping another.
StoredWeights read_safetensors(std::span<const std::byte> bytes);

}  // namespace tally::model
