// SPDX-License-Identifier: Apache-2.0
#include "safetensors/shards.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/format.hpp>
#include <tally/weights/byte_source.hpp>
#include <tally/weights/file_kind.hpp>

#include "checkpoint_error.hpp"
#include "checkpoint_files.hpp"
#include "safetensors/flat_json.hpp"

namespace tally::weights {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kLongestIndex = 100'000'000;

json parse(const fs::path& index) {
  const FileSource file(index);
  if (file.size() > kLongestIndex) throw FormatError(format("it has {} bytes", file.size()));
  return parse_flat_json(as_text(file.read(0, file.size())));
}

// The file that the index names for each tensor. The names are joined to the path of the folder, so
// they must not lead out of it.
std::map<std::string, std::string> weight_map(const json& index) {
  const auto found = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || found == index.end() || !found->is_object() || found->empty()) {
    throw FormatError("it is no index: it has no weight_map that names tensors");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, shard] : found->items()) {
    if (!shard.is_string()) throw FormatError(format("tensor '{}' is in no file", name));
    shard_of.emplace(name, shard.get<std::string>());
    if (!is_plain_name(shard_of[name])) {
      throw FormatError(format("tensor '{}' is in '{}', which is no name of a file beside it", name,
                               shard_of[name]));
    }
  }
  return shard_of;
}

// Adds the tensors of one shard. Its file comes last in the list of files, which is why its number
// is their count so far. A tensor that the index places in another shard is left to that one.
void add(Checkpoint& all, Checkpoint from, const ShardIndex& index, const std::string& shard) {
  for (auto& [name, tensor] : from.tensors) {
    const auto named = index.shard_of.find(name);
    if (named != index.shard_of.end() && named->second != shard) continue;
    for (auto& part : tensor.parts) part.file = all.files.size();
    if (!all.tensors.emplace(name, std::move(tensor)).second) {
      throw FormatError(format("tensor '{}' is in two files, its index names none", name));
    }
  }
  std::ranges::move(from.skipped, std::back_inserter(all.skipped));
  all.location = std::move(from.location);
  all.averaged = std::move(from.averaged);
  all.files.push_back(std::move(from.files.front()));
}

std::string path_of(const fs::path& index, const std::string& shard) {
  return (index.parent_path() / shard).string();
}

// A shard of another version of the model would otherwise pass with tensors missing.
void check_complete(const Checkpoint& all, const fs::path& index, const ShardIndex& found) {
  for (const auto& [name, shard] : found.shard_of) {
    if (all.tensors.contains(name)) continue;
    throw unreadable(path_of(index, shard),
                     format("it has no tensor '{}', which the index says it has", name));
  }
}

}  // namespace

ShardIndex read_shard_index(const fs::path& index) {
  try {
    ShardIndex found;
    found.shard_of = weight_map(parse(index));
    // That all shards are there is checked before the first is opened: `tally watch` asks with this
    // function whether a checkpoint is complete.
    std::set<std::string> shards;
    for (const auto& entry : found.shard_of) shards.insert(entry.second);
    for (const auto& shard : shards) {
      std::error_code ignored;
      if (!fs::exists(index.parent_path() / shard, ignored)) {
        throw FormatError(format("its shard '{}' is missing", shard));
      }
    }
    found.shards.assign(shards.begin(), shards.end());
    return found;
  } catch (const FormatError& error) {
    throw unreadable(index.string(), error.what());
  }
}

Checkpoint open_shards(const fs::path& index, std::string_view key) {
  const auto found = read_shard_index(index);
  Checkpoint all;
  bool safetensors = true;
  for (const auto& shard : found.shards) {
    const auto path = path_of(index, shard);
    auto one = read_checkpoint(FileSource(path), path, key);
    safetensors = safetensors && one.kind == description(FileKind::safetensors);
    try {
      add(all, std::move(one), found, shard);
    } catch (const FormatError& error) {
      throw unreadable(path, error.what());
    }
  }
  check_complete(all, index, found);
  all.kind = format("{} {} with an index", all.files.size(),
                    safetensors ? "safetensors files" : "PyTorch files");
  return all;
}

}  // namespace tally::weights
