// SPDX-License-Identifier: Apache-2.0
// Weights in several files, of which an index says which tensor lies where: Hugging Face's
// *.safetensors.index.json and *.bin.index.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tally/weights/checkpoint.hpp>

namespace tally::weights {

struct ShardIndex {
  std::vector<std::string> shards;              // names of files beside the index, sorted
  std::map<std::string, std::string> shard_of;  // by name of a tensor
};

// Error(model) if it is no index, or names a shard that is missing or in another folder.
ShardIndex read_shard_index(const std::filesystem::path& index);

// All tensors of all shards: as in the loaders of transformers and accelerate those too that the
// index does not name. Error(model) if one of the index is not in its shard.
Checkpoint open_shards(const std::filesystem::path& index, std::string_view key);

}  // namespace tally::weights
