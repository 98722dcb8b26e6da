// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "exit_process.hpp"

namespace tally::app {

void exit_process(int code) { std::exit(code); }

}  // namespace tally::app
