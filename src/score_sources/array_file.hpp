// SPDX-License-Identifier: Apache-2.0
// An open predictions file that is no HDF5 file: its bytes, and whether they have changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <tally/base/file_stamp.hpp>
#include <tally/base/files.hpp>

namespace tally::app {

class ArrayFile {
 public:
  // Throws Error(dataset) for what is no regular file, or cannot be read.
  explicit ArrayFile(std::filesystem::path path);

  std::int64_t bytes() const { return opened_.bytes; }
  // "'scores.npy'"
  std::string place() const;
  // Fills all of `out`; from several threads at once. Throws Error(dataset).
  void read(std::int64_t offset, std::span<std::byte> out) const;
  std::string read_text(std::int64_t offset, std::int64_t length) const;
  // Throws Error(dataset) where the file was written to or cut since it was opened.
  void require_unchanged() const;
  std::string stamp() const { return opened_.text_with_inode(); }

  // Throws Error(dataset) "predictions file '<path>'<problem>".
  [[noreturn]] void fail(std::string_view problem, std::string_view next_step = {}) const;

 private:
  std::filesystem::path path_;
  UniqueDescriptor descriptor_;
  FileStamp opened_;
};

}  // namespace tally::app
