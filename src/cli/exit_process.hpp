// How the process ends when everything is written and MPI is left.
#pragma once

namespace tally::app {

// Twins: leave_at_once.cpp and, in builds whose sanitizers look around at exit, leave_in_order.cpp.
[[noreturn]] void exit_process(int code);

}  // namespace tally::app
