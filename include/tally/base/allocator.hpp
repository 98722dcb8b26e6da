// SPDX-License-Identifier: Apache-2.0
// Makes malloc() keep large blocks that are freed, for programs that run networks.
#pragma once

namespace tally {

// Freed memory stays with the process from now on: the page faults of asking the kernel for it
// again cost more than a network's arithmetic. To be called before other threads exist. In the
// target tally::allocator, which also links an allocator that reuses memory better, where there is
// one.
void keep_freed_memory();

}  // namespace tally
