// SPDX-License-Identifier: Apache-2.0
// Checkpoints that tests/weights/make_checkpoints.py wrote, and what their own loaders make of
// them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/weights/checkpoint.hpp>

#include "fixture_file.hpp"

namespace tally::weights {

inline std::filesystem::path checkpoint_path(const std::string& name) {
  return std::filesystem::path(TALLY_CHECKPOINT_FIXTURES) / name;
}

// Of a test: empty at first, gone at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "tally-weights-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view content) const;
  // Of a checkpoint that stands among the fixtures.
  void copy(const std::filesystem::path& from) const {
    std::filesystem::copy(from, path_, std::filesystem::copy_options::recursive);
  }

 private:
  std::filesystem::path path_;
};

// A tensor's elements in row-major order, put together from its parts; a failure where an element
// comes not exactly once.
std::vector<std::byte> assembled(const Checkpoint& checkpoint, const std::string& name);

// The tensors of `checkpoint` are those of the safetensors file, bit for bit; a bfloat16 may stand
// for the float32 of the same value.
void check_same(const Checkpoint& checkpoint, const std::filesystem::path& expected);

}  // namespace tally::weights
