// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <tally/base/allocator.hpp>

namespace tally {

void keep_freed_memory() {
  // Older versions of glibc refuse more than 32 MiB, and give larger blocks back after each use.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 30) == 0) mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);  // the arenas of other threads keep nothing larger than 64 MiB
}

}  // namespace tally
