// SPDX-License-Identifier: Apache-2.0
// What a watchdog says of the rank for which it ends the job.
#pragma once

#include <string>

#include <tally/base/fatal_signals.hpp>

#include "judgement.hpp"

namespace tally::watchdog {

struct Verdict {
  int rank = 0;
  std::string host, phase, object, cause, next_step;
  // Of OUTPUT.error.json; its texts are those of the verdict.
  FailureRecord record() const;
  // "tally: error[8] rank 2 on node7: evaluate, data set 'val.h5', samples 0 to 63: …"
  std::string line(int world_size) const;
};

// `sign` is the last one of the suspect, which is on `host`.
Verdict make_verdict(const Suspect& suspect, const Sign& sign, std::string host,
                     double stall_limit_s);

}  // namespace tally::watchdog
