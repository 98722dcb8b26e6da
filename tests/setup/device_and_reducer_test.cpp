// SPDX-License-Identifier: Apache-2.0
// Where ranks compute, how they add up, and whether the model has room there.
#include <tally/setup/device_and_reducer.hpp>

#include <gmock/gmock.h>
#include <sched.h>

#include <cstdlib>

#include <tally/base/available_memory.hpp>
#include <tally/device/cores_and_numa_nodes.hpp>

#include "expect_error.hpp"
#include "model_memory.hpp"
#include "sample_file.hpp"
#include "session_fixture.hpp"
#include "session_notes.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceTest : public SessionFixture {
 protected:
  static bool has_gpus() { return !device::list_gpus().gpus.empty(); }

  Notes notes_;
};

TEST_F(DeviceTest, RanksOnCpusStandInTheTable) {
  const auto hardware = place_ranks(world(), "cpu", notes_);
  EXPECT_EQ(hardware.device.kind, DeviceKind::cpu);
  EXPECT_THAT(hardware.gpus.gpus, IsEmpty());
  EXPECT_FALSE(hardware.placement.shares_a_gpu);
  EXPECT_FALSE(hardware.stream.has_value());
  EXPECT_THAT(notes_.all(), IsEmpty());
  const auto& table = hardware.placement.table;
  ASSERT_EQ(std::ssize(table), rank() == 0 ? size() : 0);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].rank, static_cast<int>(i));
    EXPECT_EQ(table[i].choice.device.model, hardware.device.model);
  }
}

TEST_F(DeviceTest, AGpuThatIsAskedForMustBeThere) {
  if (has_gpus()) GTEST_SKIP() << "this machine has GPUs";
  EXPECT_THAT(agreed_refusal(ErrorKind::environment, [&] { place_ranks(world(), "cuda", notes_); }),
              testing::AllOf(testing::StartsWith("no GPU for rank"),
                             HasSubstr("Use '--device cpu' for all ranks.")));
}

TEST_F(DeviceTest, AGpuThatWasAllocatedForNothingIsNamed) {
  if (has_gpus()) GTEST_SKIP() << "this machine has GPUs";
  setenv("SLURM_JOB_GPUS", "0,1", 1);
  EXPECT_EQ(place_ranks(world(), "auto", notes_).device.kind, DeviceKind::cpu);
  unsetenv("SLURM_JOB_GPUS");
  EXPECT_THAT(notes_.all(),
              ElementsAre(testing::AllOf(HasSubstr("on the CPU although SLURM_JOB_GPUS=0,1: "),
                                         HasSubstr("(--device cuda makes this an error)"))));
}

TEST_F(DeviceTest, RanksOnCpusAddUpByMpi) {
  for (const char* const word : {"auto", "mpi"}) {
    config_.execution.reduce = word;
    const auto session = open(data::SampleFile{});
    const auto reducer = choose_reducer(world(), session, notes_);
    EXPECT_EQ(reducer->name(), "mpi");
    std::vector<std::int64_t> values{1, rank()};
    reducer->sum(values);
    EXPECT_THAT(values, ElementsAre(size(), rank_sum()));
  }
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(DeviceTest, NcclNeedsGpus) {
  config_.execution.reduce = "nccl";
  const auto session = open(data::SampleFile{});
  EXPECT_EQ(
      agreed_refusal(ErrorKind::environment, [&] { choose_reducer(world(), session, notes_); }),
      "NCCL needs a GPU, and this run is on the CPU. Use '--reduce mpi'.");
}

TEST_F(DeviceTest, RanksThatShareAGpuAddUpByMpi) {
  auto session = open(data::SampleFile{});
  session.hardware.device.kind = DeviceKind::cuda;
  session.hardware.placement.shares_a_gpu = true;
  EXPECT_EQ(choose_reducer(world(), session, notes_)->name(), "mpi");
  EXPECT_THAT(notes_.all(),
              ElementsAre("ranks share a GPU, where NCCL does not work: MPI adds up the results"));
}

TEST_F(DeviceTest, ThreadsThatShareCoresAreNamedOnAllRanks) {
  config_.execution.threads = is_last() ? 100'000 : 1;
  note_binding(world(), open(data::SampleFile{}), notes_);
  ASSERT_FALSE(notes_.all().empty());
  EXPECT_THAT(notes_.all().front(), HasSubstr("threads of a rank share"));
}

// Only the last rank is bound to one core.
TEST_F(DeviceTest, TheFewestCoresThatThreadsShareAreNamed) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "needs 2 cores";
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(*device::usable_cores().begin()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, is_last() ? &one : &before), 0);
  config_.execution.threads = 2;
  note_binding(world(), open(data::SampleFile{}), notes_);
  sched_setaffinity(0, sizeof before, &before);
  ASSERT_FALSE(notes_.all().empty());
  EXPECT_THAT(notes_.all().front(), HasSubstr("2 threads of a rank share 1 core, "));
}

TEST_F(DeviceTest, WhatAGpuDoesIsNoMatterOfCores) {
  config_.execution.threads = 100'000;
  auto session = open(data::SampleFile{});
  session.hardware.device.kind = DeviceKind::cuda;
  note_binding(world(), session, notes_);
  EXPECT_THAT(notes_.all(), IsEmpty());
}

// 8 TiB that no disk holds: the file has a size alone.
TEST_F(DeviceTest, AModelThatMemoryCannotHoldIsRefusedUnread) {
  config_.files.model = folder_ / "large.pt";
  if (world().is_root()) {
    std::ofstream(config_.files.model) << "x";
    fs::resize_file(config_.files.model, std::uintmax_t{1} << 43);
  }
  world().barrier();
  const auto session = open(data::SampleFile{});
  const auto text =
      agreed_refusal(ErrorKind::environment, [&] { check_model_fits(world(), session); });
  EXPECT_THAT(text, testing::StartsWith("model '" + config_.files.model + "' has 8796.1 GB"));
  EXPECT_THAT(text, HasSubstr("this node has "));
  EXPECT_EQ(text.find(" with " + std::to_string(size()) + " ranks") != std::string::npos,
            size() > 1);
}

TEST_F(DeviceTest, FilesAreTooLargeWithAllRanksOfTheNode) {
  const auto half = *available_memory_bytes() / 2;
  EXPECT_NO_THROW(check_host_memory("weights", half, 1));
  expect_error(ErrorKind::environment, {"weights has ", " with 3 ranks; this node has "},
               [&] { check_host_memory("weights", half, 3); });
}

TEST_F(DeviceTest, AModelThatIsNotThereIsNotTooLarge) {
  config_.files.model = folder_ / "none.pt";
  EXPECT_NO_THROW(check_model_fits(world(), open(data::SampleFile{})));
}

}  // namespace
}  // namespace tally::app
