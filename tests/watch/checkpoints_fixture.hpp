// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints of a simple kind.
#pragma once

#include <string>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/watch/checkpoint_folder.hpp>

#include "scratch_folder.hpp"

namespace tally::watch {

// Files that end in .pt are checkpoints; folders are once they hold a file "index" with one digit:
// how many files "shard<i>" there must be.
inline std::vector<std::filesystem::path> find(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return path.extension() == ".pt" ? std::vector{path} : std::vector<std::filesystem::path>();
  }
  std::vector<std::filesystem::path> files = {path / "index"};
  if (!std::filesystem::exists(files[0])) return {};
  char num_shards = '0';
  std::ifstream(files[0]) >> num_shards;
  for (int i = 0; i < num_shards - '0'; ++i) {
    files.push_back(path / ("shard" + std::to_string(i)));
    if (!std::filesystem::exists(files.back())) {
      throw Error(ErrorKind::model, "'" + files.back().filename().string() + "' is missing");
    }
  }
  return files;
}

inline std::vector<std::string> names_of(const std::vector<Checkpoint>& checkpoints) {
  std::vector<std::string> names;
  for (const auto& checkpoint : checkpoints) names.push_back(checkpoint.name);
  return names;
}

class Checkpoints : public ScratchFolder {
 protected:
  static constexpr double kIntervalS = 2;

  // When the next scan is due.
  Poll scan(CheckpointFolder& folder) {
    now_s_ += kIntervalS;
    return folder.poll();
  }
  ScanInterval interval() {
    return {kIntervalS, [this] { return now_s_; }};
  }
  std::vector<std::string> ready(CheckpointFolder& folder) { return names_of(scan(folder).ready); }
  CheckpointFolder opened(const std::vector<Checkpoint>& known = {}) {
    return CheckpointFolder(folder_, find, interval(), known);
  }

  double now_s_ = 1000;
};

}  // namespace tally::watch
