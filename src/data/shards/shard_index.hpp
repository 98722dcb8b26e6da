// SPDX-License-Identifier: Apache-2.0
// Reads the index of a data set of several files (data_tools/SCHEMA.md, Data sets of several
// files).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tally/base/error.hpp>

namespace tally::data {

struct ShardEntry {
  std::filesystem::path file;  // the index's folder and the name
  std::int64_t num_samples = 0;
  std::string identity;  // empty: the index does not say it
};

struct ShardIndex {
  std::string task;
  std::int64_t num_samples = 0;
  std::vector<ShardEntry> shards;  // in the order of their samples
};

// Throws Error(dataset) naming the first thing that is not as the schema has it. The shards are
// not looked at.
ShardIndex read_shard_index(const std::filesystem::path& path);

// What a shard's error says, and of which index it is one.
Error error_of_shard(const Error& error, const std::filesystem::path& index);

}  // namespace tally::data
