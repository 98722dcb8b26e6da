// Bytes at a place in an open file; from several threads at once, for no file position is used. And
// files without a name, gone with the process, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <tally/base/unique_descriptor.hpp>

namespace tally {

// All of `out` from `offset` on, whatever pieces the system gives it in. Empty when that worked,
// else why not: what the system says, or "the file ends early".
std::string read_at(int descriptor, std::int64_t offset, std::span<std::byte> out);

// All of `bytes` to `offset`; empty when that worked, else what the system says.
std::string write_at(int descriptor, std::int64_t offset, std::span<const std::byte> bytes);

// Where the file system can make files without a name; else an invalid handle and errno.
UniqueDescriptor open_nameless(const std::filesystem::path& folder);
// A file whose name is removed at once: for file systems that cannot (NFS, some FUSE).
UniqueDescriptor open_and_unlink(const std::filesystem::path& folder);
// Whichever of the two works; else an invalid handle and errno.
UniqueDescriptor open_scratch(const std::filesystem::path& folder);

}  // namespace tally
