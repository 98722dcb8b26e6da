// SPDX-License-Identifier: Apache-2.0
// Lets short sleeps of a thread last longer, for waits that poll.
#pragma once

#include <sys/prctl.h>

namespace tally::comm {

// While it lives, a sleep of this thread may end up to a millisecond late (prctl(2),
// PR_SET_TIMERSLACK); threads that it starts meanwhile keep that for good. Open MPI 4 waits in
// MPI_Init and MPI_Finalize by sleeping 100 us in a loop. Ranks that are many times the cores keep
// those from the processes for which they wait (docs/decisions/055-start-of-a-rank.md).
class CoarseSleep {
 public:
  CoarseSleep() : previous_ns_(prctl(PR_GET_TIMERSLACK)) {
    if (is_finer()) set(kLateNs);
  }
  ~CoarseSleep() {
    if (is_finer()) set(previous_ns_);
  }
  CoarseSleep(const CoarseSleep&) = delete;
  CoarseSleep& operator=(const CoarseSleep&) = delete;

 private:
  static constexpr int kLateNs = 1'000'000;
  // A kernel that refuses leaves sleeps as they are.
  static void set(int late_ns) { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(late_ns)); }
  bool is_finer() const { return previous_ns_ > 0 && previous_ns_ < kLateNs; }

  int previous_ns_;
};

}  // namespace tally::comm
