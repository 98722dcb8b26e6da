// SPDX-License-Identifier: Apache-2.0
// The subcommands of the program and how they are started.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::app {

// What main() does between setting the allocator and ending the process. Returns the exit code;
// after a failure that the ranks could not agree on it ends the process itself (abort_job).
int run_command(const std::vector<std::string>& arguments, int& argc, char**& argv);

enum class EvaluateMode { evaluate, check, score };
// Collective. `tally evaluate`, `tally check` and `tally score`: the exit code. Throws
// comm::AgreedFailure after a failure that all ranks agreed on; anything else that leaves it must
// end the MPI job.
int run_evaluate(const comm::Communicator& comm, EvaluateMode mode,
                 const std::vector<std::string>& arguments);

// `tally compare DIR_A DIR_B`: one process, no MPI. Throws Error.
void run_compare(const std::vector<std::string>& arguments);

}  // namespace tally::app
