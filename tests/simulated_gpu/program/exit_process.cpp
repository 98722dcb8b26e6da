// SPDX-License-Identifier: Apache-2.0
// Twin of src/cli/exit_process_immediately.cpp: says how often the host waited, in the file that
// TALLY_TEST_WAITS names, as tests/gpu/count_waits.cpp does on a GPU.
#include "exit_process.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "simulated_gpu.hpp"

namespace tally::app {

void exit_process(int code) {
  if (const char* const file = std::getenv("TALLY_TEST_WAITS")) {
    std::ofstream(file) << simulated_gpu::num_host_waits() << '\n';
  }
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace tally::app
