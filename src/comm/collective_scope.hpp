// SPDX-License-Identifier: Apache-2.0
// Says that this rank is in a collective call of MPI: to the trace, and to the watchdog, for which
// a rank that waits for others does not stall.
#pragma once

#include <tally/base/activity.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::comm {

class CollectiveScope {
 public:
  // `name` stays.
  explicit CollectiveScope(const char* name) : span_(trace::Kind::collective, name) {}

 private:
  const trace::Span span_;
  const ActivityScope waiting_{Activity::wait_for_ranks};
};

}  // namespace tally::comm
