// SPDX-License-Identifier: Apache-2.0
// The index of a data set of several files, to write and to spoil.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tally::data {

struct IndexFile {
  struct Entry {
    std::string file;
    std::int64_t rows = 0;
    std::string identity;
  };
  std::string task = "multiclass";
  std::int64_t num_samples = 0;
  std::vector<Entry> shards = {};
  bool identities = true;

  void add(const std::string& file, std::int64_t rows, const std::string& identity) {
    shards.push_back({file, rows, identity});
    num_samples += rows;
  }

  nlohmann::json json() const {
    nlohmann::json root{{"tally_shards", 1}, {"task", task}, {"num_samples", num_samples}};
    for (const Entry& entry : shards) {
      nlohmann::json shard{{"file", entry.file}, {"rows", entry.rows}};
      if (identities) shard["identity"] = entry.identity;
      root["shards"].push_back(shard);
    }
    return root;
  }

  void write(const std::filesystem::path& path) const { std::ofstream(path) << json().dump(2); }
};

}  // namespace tally::data
