// SPDX-License-Identifier: Apache-2.0
// Words that ranks send each other while they compute, outside of all collective calls: each looks
// for them when it has time to.
#pragma once

#include <tally/comm/communicator.hpp>

namespace tally::comm {

enum class Notice {
  stop = 1,  // end the loop, and keep what was done
  failed,    // this rank ends the job, for it failed where nobody else notices
};

// Not collective. To all other ranks. Returns at once, also where a rank never looks for it. A
// second notice of one kind is not sent.
void send_notice(const Communicator& comm, Notice notice);

// Not collective. Whether a notice of this kind has come.
bool has_notice(const Communicator& comm, Notice notice);

// Thrown where a rank has the notice that a peer failed, which ends the job.
struct PeerFailed {};

// Collective. Takes the stop notices that are still under way, so that none is left when MPI ends,
// and forgets those that have come.
void settle_notices(const Communicator& comm);

}  // namespace tally::comm
