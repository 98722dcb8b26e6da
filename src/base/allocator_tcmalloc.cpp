// SPDX-License-Identifier: Apache-2.0
#include <gperftools/malloc_extension.h>

#include <tally/base/allocator.hpp>

namespace tally {

// At the rate 0 tcmalloc gives no page back to the kernel.
void keep_freed_memory() { MallocExtension::instance()->SetMemoryReleaseRate(0); }

}  // namespace tally
