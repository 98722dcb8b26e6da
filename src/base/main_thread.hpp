// SPDX-License-Identifier: Apache-2.0
// Whether the caller is the thread that the process began with.
#pragma once

#include <unistd.h>

namespace tally {

inline bool is_main_thread() noexcept {
  thread_local const bool is_main = ::gettid() == ::getpid();
  return is_main;
}

}  // namespace tally
