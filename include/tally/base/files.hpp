// SPDX-License-Identifier: Apache-2.0
// Opens, reads and writes files: an open file has an owner, bytes can be read at any place, scratch
// files have no name, and small files are read whole and written so that no reader ever sees half
// of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/base/unique_handle.hpp>

namespace tally {

// Owner of a POSIX file descriptor.
struct DescriptorTraits {
  using Handle = int;
  static Handle invalid() noexcept { return -1; }
  static void close(Handle descriptor) noexcept;
};
using UniqueDescriptor = UniqueHandle<DescriptorTraits>;

// All of `out` from `offset` on, whatever pieces the system gives it in. Empty when that worked,
// else why not: what the system says, or "the file ends early". From several threads at once: no
// file position is used.
std::string read_at(int descriptor, std::int64_t offset, std::span<std::byte> out);

// All of `bytes` to `offset`; empty when that worked, else what the system says. From several
// threads at once.
std::string write_at(int descriptor, std::int64_t offset, std::span<const std::byte> bytes);

// A file without a name, gone with the process, however that ends, where the file system can make
// one; else an invalid handle and errno.
UniqueDescriptor open_nameless(const std::filesystem::path& folder);
// A file whose name is removed at once: for file systems that cannot (NFS, some FUSE).
UniqueDescriptor open_and_unlink(const std::filesystem::path& folder);
// Whichever of the two works; else an invalid handle and errno.
UniqueDescriptor open_scratch(const std::filesystem::path& folder);

// A regular file, open for reading.
struct OpenedFile {
  UniqueDescriptor descriptor;
  std::int64_t bytes = 0;
};
// Throws Error(kind) naming `what` ("model", "config file") and why. What is no regular file is
// refused at once: a pipe could block, and a device need not end.
OpenedFile open_regular_file(const std::filesystem::path& path, ErrorKind kind,
                             std::string_view what);

// All bytes of a regular file. Throws Error(kind) as above, also where there are more than
// `most_bytes`; Error(environment) where the memory that is left cannot hold them.
std::vector<std::byte> read_file(
    const std::filesystem::path& path, ErrorKind kind, std::string_view what,
    std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());

// Whether something has this name, be it a link that leads nowhere.
bool is_there(const std::filesystem::path& path);

// Where a file lies until it is complete: beside `path`, named for this process. What cleans up
// after a run relies on it.
std::filesystem::path partial_path(const std::filesystem::path& path);

// A file that is written at partial_path(path), from begin to end or at places in any order.
class PartialFile {
 public:
  // Creates it: Error(output) where something has that name, be it a link.
  explicit PartialFile(std::filesystem::path path);
  // Removes it unless finish() was reached.
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void append(std::string_view text);  // Error(output)
  // Leaves the place where append() goes on as it is. Error(output).
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // Syncs and closes it: what the disk or a server refuses is an Error(output) here at the latest.
  void finish();
  // Finishes it and renames it to `path`, as publish_file() and publish_new_file() do. Where the
  // rename fails, the temporary file is removed.
  void publish();
  void publish_new();

 private:
  using Publish = void (*)(const std::filesystem::path&, const std::filesystem::path&);
  void publish_by(Publish give_name);

  std::filesystem::path path_;
  UniqueDescriptor file_;
  bool is_finished_ = false;
};

// What a file system finds out late (no space, a quota, a server that is gone) is an Error(output)
// here. path: for messages.
void sync_and_close(UniqueDescriptor file, const std::filesystem::path& path);
// Of a file that is closed already, and of the names in a folder. Error(output).
void sync_file(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& folder);

// Writes beside `path`, syncs, renames, syncs the folder. Throws Error(output); then `path` is as
// it was, or holds the new content where only syncing the folder failed. Nothing else is left.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Renames a file unless `to` exists. False where that fails, as with EEXIST; errno says why.
// Async-signal-safe.
bool rename_to_new(const char* from, const char* to) noexcept;

// Renames a temporary file that is synced to `path` and syncs the folder. Throws Error(output).
void publish_file(const std::filesystem::path& temporary, const std::filesystem::path& path);
// The same, but a file that is at `path` stays, and this is an Error(output).
void publish_new_file(const std::filesystem::path& temporary, const std::filesystem::path& path);

}  // namespace tally
