// SPDX-License-Identifier: Apache-2.0
// Names of threads, for tools that list them: top -H, gdb, perf, and tests.
#pragma once

#include <pthread.h>

namespace tally {

// Names the calling thread. Linux takes at most 15 bytes; a longer name leaves the thread with the
// one that it has.
inline void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace tally
