// SPDX-License-Identifier: Apache-2.0
// What the process does first of all, whatever its command line asks for.
#pragma once

namespace tally::app {

// Standard streams that are closed lead to /dev/null, so that no file that is opened later takes
// their place; a write that is refused fails and does not end the process; new files are readable
// by their owner and group at most; HDF5 loads no plugins.
void prepare_process();

}  // namespace tally::app
