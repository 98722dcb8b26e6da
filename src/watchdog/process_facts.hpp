// SPDX-License-Identifier: Apache-2.0
// What the kernel says of this process, its threads and its neighbours.
#pragma once

#include <sys/types.h>
#include <cstdint>

namespace tally::watchdog {

// Bytes that all threads of this process but the calling one have read and written by system calls
// so far; 0 where the kernel does not count them.
std::uint64_t bytes_moved_by_others();

// Which process numbers mean the same to two processes: those of the same number. 0: not known.
std::uint64_t pid_namespace() noexcept;

// Whether no process of this number exists any more.
bool has_ended(pid_t pid) noexcept;

}  // namespace tally::watchdog
