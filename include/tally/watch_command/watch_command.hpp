// SPDX-License-Identifier: Apache-2.0
// Runs the command `tally watch`.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::app {

// Collective. `tally watch`: the exit code. Throws comm::AgreedFailure after a failure that all
// ranks agreed on; anything else that leaves it must end the MPI job.
int run_watch(const comm::Communicator& comm, const std::vector<std::string>& arguments);

}  // namespace tally::app
