// SPDX-License-Identifier: Apache-2.0
// Locks an output folder, so that at most one process writes to it at a time.
#pragma once

#include <filesystem>
#include <optional>

#include <tally/base/files.hpp>

namespace tally::app {

// Holds the lock file of a folder, `.tally-lock`, until it is destroyed or the process ends,
// however it ends. The file goes with the lock; one that a killed process left is no obstacle.
class FolderLock {
 public:
  // Empty where another process holds it. A file system without locks lets every process through
  // (holds() is false then). Throws Error(output) where the file can be neither made nor opened; a
  // link is not followed.
  static std::optional<FolderLock> take(const std::filesystem::path& folder);
  // Where that file lies.
  static std::filesystem::path path_in(const std::filesystem::path& folder);
  // Whether another process holds the lock whose file lies there; may be called from a signal
  // handler.
  static bool is_held_by_another(const char* lock_file) noexcept;
  FolderLock(FolderLock&&) = default;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

  // Whether it keeps others out: what lies in the folder is of no process that runs.
  bool holds() const { return holds_; }
  // Its file; empty once it was moved from.
  const std::filesystem::path& path() const { return path_; }

 private:
  FolderLock(std::filesystem::path path, UniqueDescriptor file, bool holds, bool is_new);

  std::filesystem::path path_;
  UniqueDescriptor file_;
  bool holds_ = false;
  bool is_new_ = false;  // the file was made here
};

}  // namespace tally::app
