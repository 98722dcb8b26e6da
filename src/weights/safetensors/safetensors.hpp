// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 length, JSON header, raw bytes.
// https://huggingface.co/docs/safetensors/index#format
#pragma once

#include "torch_save/state_dict.hpp"

namespace tally::weights {

bool looks_like_safetensors(const ByteSource& bytes);

// Throws FormatError naming the tensor that is malformed, of an unknown type, out of bounds or
// overlapping another.
StoredWeights read_safetensors(const ByteSource& bytes);

}  // namespace tally::weights
