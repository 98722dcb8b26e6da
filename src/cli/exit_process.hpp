// SPDX-License-Identifier: Apache-2.0
// How the process ends when everything is written and MPI is left.
#pragma once

namespace tally::app {

// Twins: exit_process_immediately.cpp and, in builds whose sanitizers look around at exit,
// exit_process_normally.cpp.
[[noreturn]] void exit_process(int code);

}  // namespace tally::app
