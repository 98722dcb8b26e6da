// SPDX-License-Identifier: Apache-2.0
#include <tally/comm/mpi_runtime.hpp>

#include <gmock/gmock.h>

#include <string>

#include "launcher_variables.hpp"

namespace tally::comm {
namespace {

std::optional<std::string> problem(int world_size, const LauncherVariables& variables) {
  g_launcher_variables = &variables;
  return singleton_launch_problem(world_size, value_of);
}

TEST(SeparateJobs, AProcessStartedByHandIsAlone) {
  EXPECT_FALSE(problem(1, {}));
  EXPECT_FALSE(problem(1, {{"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(SeparateJobs, SrunWithoutTheRightMpiIsRefused) {
  const auto found = problem(1, {{"SLURM_STEP_NUM_TASKS", "4"}});
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, testing::HasSubstr("4 tasks"));
  EXPECT_THAT(*found, testing::HasSubstr("SLURM_STEP_NUM_TASKS"));
  EXPECT_THAT(*found, testing::HasSubstr("--mpi=pmix"));
  EXPECT_THAT(*found, testing::HasSubstr("TALLY_ALLOW_SEPARATE_JOBS=1"));
}

TEST(SeparateJobs, AnotherMpisLauncherIsRefused) {
  const auto under_open_mpi = problem(1, {{"OMPI_COMM_WORLD_SIZE", "3"}});
  ASSERT_TRUE(under_open_mpi);
  EXPECT_THAT(*under_open_mpi, testing::HasSubstr("OMPI_COMM_WORLD_SIZE=3"));
  EXPECT_TRUE(problem(1, {{"PMI_SIZE", "2"}}));
  EXPECT_TRUE(problem(1, {{"PMI_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
}

TEST(SeparateJobs, MpirunWithOneRankInAnAllocationIsFine) {
  // There SLURM_STEP_NUM_TASKS counts mpirun's daemons.
  EXPECT_FALSE(problem(1, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
  EXPECT_FALSE(problem(1, {{"PMI_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
}

TEST(SeparateJobs, SeveralRanksAreOneJob) {
  EXPECT_FALSE(problem(4, {{"SLURM_STEP_NUM_TASKS", "4"}}));
  EXPECT_FALSE(problem(4, {{"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
}

TEST(SeparateJobs, CanBeAllowed) {
  EXPECT_FALSE(problem(1, {{"SLURM_STEP_NUM_TASKS", "4"}, {"TALLY_ALLOW_SEPARATE_JOBS", "1"}}));
  EXPECT_TRUE(problem(1, {{"SLURM_STEP_NUM_TASKS", "4"}, {"TALLY_ALLOW_SEPARATE_JOBS", "0"}}));
}

TEST(SeparateJobs, ValuesThatAreNoNumbersAreIgnored) {
  EXPECT_FALSE(problem(1, {{"SLURM_STEP_NUM_TASKS", "4x"}}));
  EXPECT_FALSE(problem(1, {{"OMPI_COMM_WORLD_SIZE", ""}}));
  EXPECT_TRUE(problem(1, {{"OMPI_COMM_WORLD_SIZE", ""}, {"PMI_SIZE", "2"}}));
}

}  // namespace
}  // namespace tally::comm
