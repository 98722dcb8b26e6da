// SPDX-License-Identifier: Apache-2.0
// Bytes kept in a file without a name: on a disk of this node, and gone however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include <tally/base/files.hpp>

namespace tally::data {

class StagedFile {
 public:
  // In `folder`, with room for `bytes` set aside where the file system can. Throws Error(output)
  // naming the folder, as append() does.
  StagedFile(std::filesystem::path folder, std::int64_t bytes);

  // Puts `bytes` behind those that are there; where they begin. One thread at a time.
  std::int64_t append(std::span<const std::byte> bytes);
  // From several threads at once.
  void read(std::int64_t position, std::span<std::byte> out) const;

 private:
  [[noreturn]] void fail(std::string_view action, std::string_view reason) const;

  std::filesystem::path folder_;
  UniqueDescriptor descriptor_;
  std::int64_t size_ = 0;
};

}  // namespace tally::data
