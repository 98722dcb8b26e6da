// SPDX-License-Identifier: Apache-2.0
#include "prepare_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include <tally/base/error.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/fixed_text.hpp>
#include <tally/base/interrupt.hpp>

namespace tally::app {
namespace {

// open() gives the lowest number that is free, which is the one that was found closed.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

// Results tell of data that need not be for all eyes, and libraries that create files (HDF5's) take
// no mode. umask() can only be read by setting it.
void hide_new_files_from_others() { ::umask(::umask(0) | S_IWGRP | S_IRWXO); }

// From 1.12 on HDF5 loads what HDF5_VOL_CONNECTOR and HDF5_DRIVER name as it starts, before
// H5PLset_loading_state() can forbid that; by this value it loads nothing.
void keep_plugins_out_of_hdf5() { ::setenv("HDF5_PLUGIN_PRELOAD", "::", 1); }

// oneTBB, OpenVINO's threads, opens libraries so that they find the C library's free() before the
// program's, which has another malloc() (docs/decisions/039): memory of one would go to the other.
// This variable, which it knows for sanitizers, makes it open them as others do.
void have_one_allocator() { ::setenv("TBB_ENABLE_SANITIZERS", "1", 0); }

}  // namespace

void prepare_for_libraries() noexcept {
  speak_of_fatal_signals();
  std::array<char, PATH_MAX> folder;
  if (::getcwd(folder.data(), folder.size()) != nullptr || errno != ENOENT) return;
  write_all(
      STDERR_FILENO,
      "tally: error[5]: the working folder does not exist any more. Change to another one.\n");
  std::_Exit(exit_code(ErrorKind::environment));
}

void prepare_process() {
  open_standard_streams();
  let_writes_fail();
  hide_new_files_from_others();
  keep_plugins_out_of_hdf5();
  have_one_allocator();
}

}  // namespace tally::app
