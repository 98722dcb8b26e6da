// Finds the state_dict in what a checkpoint holds.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "pickle_value.hpp"
#include "stored_tensor.hpp"

namespace tally::model {

// The bytes of a storage; its size is checked by the caller of this function.
using StorageBytes = std::function<std::span<const std::byte>(const StorageRecord&)>;

// With an empty `key`: `root` itself if it is a dict of tensors, or what lies under one of the
// usual names (model_state_dict, model, state_dict, ema). Else what lies at the dotted path `key`.
// Throws FormatError saying what was found instead.
StoredWeights read_state_dict(const PickleValue& root, std::string_view key,
                              const StorageBytes& storage_bytes);

}  // namespace tally::model
