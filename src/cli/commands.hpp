// SPDX-License-Identifier: Apache-2.0
// The subcommands of the program and how they are started.
#pragma once

#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>

namespace tally::app {

// Everything main() does: answers --help and --version, runs the subcommand, decides how the
// process ends. Returns the exit code.
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
