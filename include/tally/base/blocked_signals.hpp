// SPDX-License-Identifier: Apache-2.0
// Keeps signals from a thread, and from those that it starts meanwhile.
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace tally {

// Signals that cannot be blocked, and SIGSEGV and its like by a defect, end a process nevertheless:
// in silence where they are among those that wait (fatal_signals.hpp).
enum class FatalSignals { wait, speak };

class BlockedSignals {
 public:
  explicit BlockedSignals(FatalSignals fatal) {
    sigset_t blocked;
    ::sigfillset(&blocked);
    if (fatal == FatalSignals::speak) {
      for (const int number : {SIGILL, SIGBUS, SIGSEGV, SIGFPE, SIGABRT}) {
        ::sigdelset(&blocked, number);
      }
    }
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace tally
