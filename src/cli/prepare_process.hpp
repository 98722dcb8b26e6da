// SPDX-License-Identifier: Apache-2.0
// What the process does first of all, whatever its command line asks for.
#pragma once

namespace tally::app {

// For the constructors of shared libraries, which come before main(), and may lack memory or an
// instruction: fatal signals speak. Ends the process (5) where there is no working folder, without
// which libraries that look for others end it in their own way (oneMKL). It runs when nothing of
// the process is constructed yet.
void prepare_for_libraries() noexcept;

// Standard streams that are closed lead to /dev/null, so that no file that is opened later takes
// their place; a write that is refused fails and does not end the process; new files are readable
// by their owner and group at most; HDF5 loads no plugins.
void prepare_process();

}  // namespace tally::app
