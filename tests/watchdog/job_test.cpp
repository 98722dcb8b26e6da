// SPDX-License-Identifier: Apache-2.0
// Whether rank 0 may conclude from the signs that it gets that nothing moves in the whole job.
#include <gtest/gtest.h>

#include "watch_thread.hpp"

namespace tally::watchdog {
namespace {

Job job_of(int num_nodes, bool has_memory, bool has_address) {
  Job job;
  for (int node = 0; node < num_nodes; ++node) job.first_ranks.push_back(2 * node);
  job.has_memory = has_memory;
  if (has_address) job.addresses = {"192.0.2.1"};
  return job;
}

TEST(Job, SeesAllRanksOfOneNodeInItsMemory) {
  EXPECT_TRUE(job_of(1, true, false).sees_all());
  EXPECT_FALSE(job_of(1, false, false).sees_all());
}

TEST(Job, SeesAllRanksOfSeveralNodesByTheirMemoryAndOverTcp) {
  EXPECT_TRUE(job_of(2, true, true).sees_all());
  EXPECT_FALSE(job_of(2, true, false).sees_all());
  EXPECT_FALSE(job_of(2, false, true).sees_all());
}

}  // namespace
}  // namespace tally::watchdog
