// SPDX-License-Identifier: Apache-2.0
// Ends a job in which something hangs: a thread of each rank, which calls neither MPI nor NCCL,
// knows of every rank whether it gets on. It ends the process with code 8 after one line that names
// the rank, its phase and its object. What counts as no progress: judgement.hpp of this room.
#pragma once

#include <memory>

#include <tally/comm/communicator.hpp>

namespace tally::watchdog {

// While one lives this rank is watched, by itself and by all others, with the limit that
// tally::stall_limit() has at the time. It may outlive MPI. At most one lives in a process.
class Watchdog {
 public:
  // Collective. Ranks of a node share a page of memory; where there are several nodes, rank 0 opens
  // a TCP port, to which one rank of each other node connects. What a system does not allow is not
  // watched, and a note says so.
  explicit Watchdog(const comm::Communicator& comm);
  // Not collective: this rank is through, and others no longer miss it.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tally::watchdog
