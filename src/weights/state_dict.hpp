// Finds the state_dict in what a checkpoint holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "pickle_value.hpp"
#include "weights_reader.hpp"

namespace tally::weights {

// Where a storage lies in the file.
struct StoragePlace {
  std::uint64_t offset = 0, num_bytes = 0;
};
using FindStorage = std::function<StoragePlace(const StorageRecord&)>;

// With an empty `key`: `root` itself if it is a dict of tensors, or what lies under one of the
// usual names (model_state_dict, model, state_dict, ema). Else what lies at the dotted path `key`.
// Throws FormatError saying what was found instead.
StoredWeights read_state_dict(const PickleValue& root, std::string_view key,
                              const FindStorage& find_storage);

// One tensor. Throws FormatError if its storage is smaller than the pickle says.
StoredTensor stored(const TensorRecord& record, const FindStorage& find_storage);

}  // namespace tally::weights
