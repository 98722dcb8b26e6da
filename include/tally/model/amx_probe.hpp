// SPDX-License-Identifier: Apache-2.0
// This leaves out AMX, the matrix instructions of newer Intel processors, where it is announced but
// cannot run.
#pragma once

namespace tally::model {

// Whether this processor announces AMX but faults on it, as virtual machines do whose host does not
// pass it through. If so, the environment keeps oneDNN and MKL from it from now on, unless the user
// has done so already. The first call decides and changes the environment; it comes before LibTorch
// computes anything, for both libraries read the environment once, and before MPI and threads
// start, for it may fork.
bool leave_out_broken_amx();

}  // namespace tally::model
