// Bytes at a place in an open file; from several threads at once, for no file position is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tally {

// All of `out` from `offset` on, whatever pieces the system gives it in. Empty when that worked,
// else why not: what the system says, or "the file ends early".
std::string read_at(int descriptor, std::int64_t offset, std::span<std::byte> out);

// All of `bytes` to `offset`; empty when that worked, else what the system says.
std::string write_at(int descriptor, std::int64_t offset, std::span<const std::byte> bytes);

}  // namespace tally
