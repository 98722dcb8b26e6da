// SPDX-License-Identifier: Apache-2.0
// Shows a watchdog that this process gets on, and what its main thread is doing, of which depends
// how long that may take. A step costs a few stores, so that loops can say each.
#pragma once

#include <cstdint>

namespace tally {

// What the main thread does; every kind has a limit of its own (watchdog/judgement.hpp).
enum class Activity : std::uint32_t {
  other,           // opens, computes, writes, syncs
  read,            // reads from a file, or waits for a thread that does
  step,            // works on one batch of the loop
  wait_for_ranks,  // is in a call that ends when other ranks come to it
  idle,            // waits for something outside of the job, for any time
};

// Says what the main thread does until the end of the scope. Begin and end are progress, on any
// thread. Scopes nest; the innermost counts.
class ActivityScope {
 public:
  explicit ActivityScope(Activity activity) noexcept;
  ~ActivityScope();
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  Activity outer_;
  std::int64_t began_ns_ = 0;  // of a step, on the steady clock
};

// Something was done: a batch, a piece of a file, one of many resamples. Any thread.
void made_progress() noexcept;

// How long a step took that no scope measured: that of the warm-up.
void note_step(std::int64_t took_ns) noexcept;

// How far the loop of this rank is, after so many seconds of it.
void note_pace(std::int64_t samples, double seconds) noexcept;

struct ActivityNow {
  Activity activity = Activity::other;
  std::uint64_t progress = 0;        // changes with each step
  std::uint64_t waits = 0;           // scopes of wait_for_ranks so far: nested ones are one
  std::int64_t longest_step_ns = 0;  // of the steps that have ended
  std::int64_t samples = 0;          // of note_pace()
  double loop_s = 0;
};
// Any thread.
ActivityNow activity_now() noexcept;

// After so many seconds without progress a watchdog may end the job (--stall-limit); 0: never.
// 60 until it is set.
void set_stall_limit(double seconds) noexcept;
double stall_limit() noexcept;

}  // namespace tally
