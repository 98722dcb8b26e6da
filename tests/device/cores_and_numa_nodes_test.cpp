// SPDX-License-Identifier: Apache-2.0
#include <tally/device/cores_and_numa_nodes.hpp>

#include <unistd.h>

#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/format.hpp>

namespace tally::device {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CpuListTest, RangesAndSingleCores) {
  EXPECT_THAT(parse_cpu_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpu_list("5"), ElementsAre(5));
  for (const auto* odd : {"", "a", "1-", "-3", "1,,2", "1-x"}) {
    EXPECT_THAT(parse_cpu_list(odd), IsEmpty()) << odd;
  }
}

// Two nodes of two cores each, a GPU on the second one.
class NumaTest : public testing::Test {
 protected:
  NumaTest() {
    write("devices/system/node/online", "0-1");
    write("devices/system/node/node0/cpulist", "0-1");
    write("devices/system/node/node1/cpulist", "2-3");
    write("bus/pci/devices/0000:1b:00.0/numa_node", "1");
    write("bus/pci/devices/0000:1c:00.0/numa_node", "-1");
  }
  ~NumaTest() override { std::filesystem::remove_all(sysfs_); }

  void write(const std::string& file, const std::string& line) {
    std::filesystem::create_directories((sysfs_ / file).parent_path());
    std::ofstream(sysfs_ / file) << line << '\n';
  }

  std::filesystem::path sysfs_ =
      std::filesystem::path(testing::TempDir()) / format("tally_sysfs_{}", ::getpid());
};

TEST_F(NumaTest, CoresBelongToNodes) {
  EXPECT_THAT(numa_nodes_of({0, 1}, sysfs_), ElementsAre(0));
  EXPECT_THAT(numa_nodes_of({1, 2}, sysfs_), ElementsAre(0, 1));
  EXPECT_THAT(numa_nodes_of({}, sysfs_), IsEmpty());
  EXPECT_THAT(numa_nodes_of({0}, sysfs_ / "nowhere"), IsEmpty());
}

TEST_F(NumaTest, GpusHangOnNodes) {
  EXPECT_EQ(numa_node_of_pci("0000:1b:00.0", sysfs_), 1);
  EXPECT_EQ(numa_node_of_pci("0000:1c:00.0", sysfs_), std::nullopt);
  EXPECT_EQ(numa_node_of_pci("0000:1d:00.0", sysfs_), std::nullopt);
}

TEST_F(NumaTest, LogicalCoresShareAPhysicalOne) {
  write("devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2");
  write("devices/system/cpu/cpu2/topology/thread_siblings_list", "0,2");
  EXPECT_THAT(physical_cores({0, 2}, sysfs_), ElementsAre(0));
  EXPECT_THAT(physical_cores({1, 2, 3}, sysfs_), ElementsAre(0, 1, 3));
}

TEST(UsableCoresTest, ThereIsOneAtLeast) { EXPECT_THAT(usable_cores(), testing::Not(IsEmpty())); }

TEST(UsableCoresTest, OtherProcessesHaveTheirOwn) {
  EXPECT_EQ(usable_cores(::getpid()), usable_cores());
  EXPECT_THAT(usable_cores(std::numeric_limits<int>::max()), IsEmpty());
}

}  // namespace
}  // namespace tally::device
