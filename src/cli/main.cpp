// SPDX-License-Identifier: Apache-2.0
// tally: exact, MPI-native distributed evaluation of trained models.
#include <string>
#include <vector>

#include <tally/base/allocator.hpp>

#include "commands.hpp"
#include "exit_process.hpp"
#include "prepare_process.hpp"

// The linker's table of what runs before the constructors of shared libraries.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)() noexcept = tally::app::prepare_for_libraries;

int main(int argc, char** argv) {
  tally::app::prepare_process();
  tally::keep_freed_memory();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  tally::app::exit_process(tally::app::run_command(arguments, argc, argv));
}
