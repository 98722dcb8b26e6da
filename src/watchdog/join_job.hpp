// SPDX-License-Identifier: Apache-2.0
// Makes the watch of a rank: all ranks exchange what their watchdogs have to know of one another.
#pragma once

#include <memory>

#include <tally/comm/communicator.hpp>

#include "watch_thread.hpp"

namespace tally::watchdog {

// Collective.
std::unique_ptr<WatchThread> join_job(const comm::Communicator& comm);

}  // namespace tally::watchdog
