// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/notices.hpp>

#include <gtest/gtest.h>

#include "comm_fixture.hpp"

namespace tally::comm {
namespace {

using NoticesTest = CommTest;

// Every rank comes here only when it has found the notice.
void wait_for(const Communicator& comm, Notice notice) {
  while (!has_notice(comm, notice)) {
  }
}

TEST_F(NoticesTest, OfOneRankComeToAllOthersAndAreForgottenTogether) {
  const Communicator& comm = world();
  const int last = comm.world_size() - 1;
  EXPECT_FALSE(has_notice(comm, Notice::stop));
  comm.barrier();

  if (comm.rank() == last) {
    send_notice(comm, Notice::stop);
    send_notice(comm, Notice::stop);
  } else {
    wait_for(comm, Notice::stop);
  }
  EXPECT_EQ(has_notice(comm, Notice::stop), comm.rank() != last);
  settle_notices(comm);

  EXPECT_FALSE(has_notice(comm, Notice::stop));
}

TEST_F(NoticesTest, OfAllRanksAreTakenThoughNobodyLooked) {
  const Communicator& comm = world();
  for (int round = 0; round < 3; ++round) {
    send_notice(comm, Notice::stop);
    settle_notices(comm);
  }
  comm.barrier();
  EXPECT_FALSE(has_notice(comm, Notice::stop));
}

TEST_F(NoticesTest, OfAFailureComeToAllOthers) {
  const Communicator& comm = world();
  if (comm.world_size() == 1) return;
  if (comm.rank() == 1) send_notice(comm, Notice::failed);
  if (comm.rank() != 1) wait_for(comm, Notice::failed);
  comm.barrier();
  EXPECT_EQ(has_notice(comm, Notice::failed), comm.rank() != 1);
}

}  // namespace
}  // namespace tally::comm
