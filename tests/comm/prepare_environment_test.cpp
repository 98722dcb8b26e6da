// SPDX-License-Identifier: Apache-2.0
#include "prepare_environment.hpp"

#include <gtest/gtest.h>

#include "launcher_variables.hpp"

namespace tally::comm {
namespace {

bool on_one_node(const LauncherVariables& variables) {
  g_launcher_variables = &variables;
  return is_job_on_one_node(value_of);
}

TEST(OneNode, IsWhatMpirunSays) {
  EXPECT_TRUE(on_one_node({{"OMPI_COMM_WORLD_SIZE", "5"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "5"}}));
  EXPECT_FALSE(on_one_node({{"OMPI_COMM_WORLD_SIZE", "6"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}));
  EXPECT_FALSE(on_one_node({{"OMPI_COMM_WORLD_SIZE", "6"}}));
}

// mpirun in an allocation of Slurm starts its daemons with srun, one for each node.
TEST(OneNode, MpirunIsBelievedBeforeSlurm) {
  EXPECT_FALSE(on_one_node({{"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"SLURM_STEP_NUM_NODES", "1"}}));
}

TEST(OneNode, IsWhatSrunSays) {
  EXPECT_TRUE(on_one_node({{"SLURM_STEP_NUM_NODES", "1"}, {"PMIX_RANK", "0"}}));
  EXPECT_FALSE(on_one_node({{"SLURM_STEP_NUM_NODES", "2"}, {"PMIX_RANK", "0"}}));
}

TEST(OneNode, OtherLaunchersDoNotSay) {
  EXPECT_FALSE(on_one_node({{"PMIX_RANK", "0"}}));
  EXPECT_FALSE(on_one_node({{"PMI_RANK", "0"}}));
  EXPECT_FALSE(on_one_node({{"PMI_SIZE", "2"}}));
}

TEST(OneNode, AProcessStartedByHandIsAlone) { EXPECT_TRUE(on_one_node({})); }

}  // namespace
}  // namespace tally::comm
