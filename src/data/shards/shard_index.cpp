// SPDX-License-Identifier: Apache-2.0
#include "shards/shard_index.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include <tally/base/byte_conversions.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/json_depth.hpp>
#include <tally/data/data_set.hpp>
#include <tally/hdf5/file_probe.hpp>

#include "dataset_error.hpp"

namespace tally::data {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::uintmax_t kMostBytes = 64 << 20;
constexpr std::size_t kIdentityDigits = 64;

// What is wrong with one index.
struct Refusal {
  const fs::path& path;
  [[noreturn]] void operator()(std::string_view object, std::string_view problem) const {
    throw_dataset_error(path, object, problem);
  }
};

json read(const fs::path& path) {
  std::error_code ignored;
  const auto bytes = fs::file_size(path, ignored);
  if (!ignored && bytes > kMostBytes) {
    throw_dataset_error(path, "", format("has {} bytes, expected {} at most", bytes, kMostBytes));
  }
  const auto content = read_file(path, ErrorKind::dataset, "data set");
  constexpr int kLevels = 3;  // the object, its list, a shard
  if (!is_nested_deeper(as_text(content), kLevels)) {
    auto parsed = json::parse(as_text(content), nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) return parsed;
  }
  throw_dataset_error(path, "", "is no JSON object that lists shards");
}

std::int64_t count_in(const json& object, const char* key, const std::string& where,
                      const Refusal& refuse) {
  const auto found = object.find(key);
  const bool is_count =
      found != object.end() && found->is_number_integer() &&
      (!found->is_number_unsigned() || found->get<std::uint64_t>() <= std::uint64_t{INT64_MAX}) &&
      found->get<std::int64_t>() >= 1;
  if (!is_count) refuse(where, format("has no '{}' that is an integer of 1 or more", key));
  return found->get<std::int64_t>();
}

std::string text_in(const json& object, const char* key, const std::string& where,
                    const Refusal& refuse) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    refuse(where, format("has no '{}' that is a string", key));
  }
  return found->get<std::string>();
}

ShardEntry entry_of(const json& object, const std::string& where, const Refusal& refuse) {
  if (!object.is_object()) refuse(where, "is no object");
  ShardEntry entry;
  const std::string name = text_in(object, "file", where, refuse);
  // It is joined to the path of the folder, so it must not lead out of it.
  const bool is_plain = !name.empty() && name != "." && name != ".." &&
                        name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (!is_plain) {
    refuse(where, format("names '{}', which is no name of a file beside the index", shown(name)));
  }
  entry.file = refuse.path.parent_path() / name;
  entry.num_samples = count_in(object, "rows", where, refuse);
  if (!object.contains("identity")) return entry;
  entry.identity = text_in(object, "identity", where, refuse);
  if (entry.identity.size() != kIdentityDigits) {
    refuse(where, format("has the identity '{}', expected {} hexadecimal digits",
                         shown(entry.identity), kIdentityDigits));
  }
  return entry;
}

std::vector<ShardEntry> entries_of(const json& root, const Refusal& refuse) {
  const auto found = root.find("shards");
  if (found == root.end() || !found->is_array() || found->empty()) {
    refuse("", "has no 'shards' that is a list of files");
  }
  std::vector<ShardEntry> entries;
  std::set<fs::path> names;
  for (std::size_t i = 0; i < found->size(); ++i) {
    entries.push_back(entry_of((*found)[i], format("shards[{}]", i), refuse));
    // Its samples would be counted twice.
    if (names.insert(entries.back().file.filename()).second) continue;
    refuse(format("shards[{}]", i),
           format("names '{}' a second time", shown(entries.back().file.filename().string())));
  }
  return entries;
}

}  // namespace

ShardIndex read_shard_index(const fs::path& path) {
  const Refusal refuse{path};
  const json root = read(path);
  if (!root.contains("tally_shards")) {
    throw_dataset_error(path, "", "is no index of a data set's files: it has no 'tally_shards'",
                        "Name the HDF5 file of a data set, or the index of its files.");
  }
  if (const auto version = count_in(root, "tally_shards", "", refuse); version != kVersion) {
    refuse("", format("has tally_shards {}, expected {}", version, kVersion));
  }
  ShardIndex index;
  index.task = text_in(root, "task", "", refuse);
  index.num_samples = count_in(root, "num_samples", "", refuse);
  index.shards = entries_of(root, refuse);
  std::int64_t rest = index.num_samples;
  // Subtracting cannot overflow: both are positive, and it ends once it is negative.
  for (const ShardEntry& shard : index.shards) {
    rest -= shard.num_samples;
    if (rest < 0) break;
  }
  if (rest != 0) {
    const auto found = rest < 0 ? std::string("more") : format("{}", index.num_samples - rest);
    refuse("", format("has num_samples {}, but its shards have {}", index.num_samples, found));
  }
  return index;
}

Error error_of_shard(const Error& error, const fs::path& index) {
  // Its last sentence may be a next step, behind which another one comes.
  std::string problem = error.what();
  if (problem.ends_with('.')) problem.pop_back();
  return {error.kind(), problem, format("It is a shard of '{}'.", shown(index.string()))};
}

void probe_files(const fs::path& path) {
  if (path.extension() != ".json") return hdf5::probe_file(path);
  for (const ShardEntry& shard : read_shard_index(path).shards) {
    try {
      hdf5::probe_file(shard.file);
    } catch (const Error& error) {
      throw error_of_shard(error, path);
    }
  }
}

}  // namespace tally::data
