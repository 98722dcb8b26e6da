// SPDX-License-Identifier: Apache-2.0
// The state_dict in what a checkpoint holds: found, and read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/weights/checkpoint.hpp>

#include "pickle/pickle_value.hpp"

namespace tally::weights {

// What the reader of one file finds in it.
struct StoredWeights {
  std::map<std::string, StoredTensor> tensors;  // their parts are of file 0
  std::string location;               // where in the file: "state_dict"; empty: at the top
  std::vector<std::string> skipped;   // entries that are no tensors
  std::vector<std::string> averaged;  // where EMA weights lie beside these
};

// Where a storage lies in the file.
struct StoragePlace {
  std::uint64_t offset = 0, num_bytes = 0;
  std::optional<std::uint32_t> crc32;  // of these bytes, if it is known
};
using FindStorage = std::function<StoragePlace(const StorageRecord&)>;

struct FoundDict {
  const PickleValue* dict = nullptr;
  std::string path;  // "app.model"
  // Where averages of the weights (EMA) lie beside it, in it or in a dict that it lies in.
  std::vector<std::string> averaged;
};

// A dict of tensors under one of the usual names (model_state_dict, model, state_dict, app; at the
// top module, net, weights, too), up to four dicts deep; else the averages (EMA), where there is
// one dict of them and no other weights beside it; else `root` itself. Null if there is none.
FoundDict search_state_dict(const PickleValue& root);
// The same with an empty `key`, else the dict of tensors at this dotted path. Throws FormatError
// saying what there is instead.
FoundDict find_state_dict(const PickleValue& root, std::string_view key);

// The tensors of the dict that find_state_dict() finds. Throws FormatError.
StoredWeights read_state_dict(const PickleValue& root, std::string_view key,
                              const FindStorage& find_storage);

// One tensor. Throws FormatError if its storage is smaller than the pickle says.
StoredTensor stored(const TensorRecord& record, const FindStorage& find_storage);

}  // namespace tally::weights
