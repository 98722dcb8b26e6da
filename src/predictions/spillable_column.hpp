// SPDX-License-Identifier: Apache-2.0
// Items of one size, in order: the first ones in the spill file, a file without a name on
// node-local disk, those after them in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <tally/base/files.hpp>

namespace tally::predictions {

// A file without a name on node-local disk: gone with the process, however that ends.

// Every function throws Error(output) naming the folder and --spill-dir.
class SpillFile {
 public:
  explicit SpillFile(std::filesystem::path folder);

  std::int64_t num_bytes() const { return num_bytes_; }
  // Puts bytes at the end.
  void append(std::span<const std::byte> bytes);
  void read(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path folder_;
  UniqueDescriptor descriptor_;
  std::int64_t num_bytes_ = 0;
};

class SpillableColumn {
 public:
  // Holds up to `memory_bytes` bytes in memory; they are asked for when the first item comes.
  SpillableColumn(std::int64_t item_bytes, std::int64_t memory_bytes);

  std::int64_t item_bytes() const { return item_bytes_; }
  std::int64_t num_items() const { return num_spilled_ + num_held_; }

  bool has_room(std::int64_t num_bytes) const;       // beside what is held
  bool ever_has_room(std::int64_t num_bytes) const;  // when nothing is held

  void hold(std::int64_t num_items, std::span<const std::byte> items);
  // Puts what is held, or items that come after it, into the file. Error(output).
  void spill_held(SpillFile& file);
  void spill(SpillFile& file, std::int64_t num_items, std::span<const std::byte> items);

  // Items [first, first + count) into `out`, which fits them; `file` may be null if none was
  // spilled.
  void read(const SpillFile* file, std::int64_t first, std::int64_t count,
            std::span<std::byte> out) const;

 private:
  // Items that were written together.
  struct Run {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t file_offset = 0;
  };

  std::int64_t item_bytes_;
  std::int64_t memory_bytes_;
  std::vector<Run> runs_;  // consecutive items from item 0 on
  std::int64_t num_spilled_ = 0;
  std::int64_t num_held_ = 0;
  std::vector<std::byte> held_;  // items [num_spilled_, num_spilled_ + num_held_)
};

}  // namespace tally::predictions
