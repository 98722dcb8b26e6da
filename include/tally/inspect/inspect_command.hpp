// SPDX-License-Identifier: Apache-2.0
// Runs the command `tally inspect`.
#pragma once

#include <string>
#include <vector>

namespace tally::app {

// `tally inspect FILE`: one process, no MPI. Throws Error.
void run_inspect(const std::vector<std::string>& arguments);

}  // namespace tally::app
