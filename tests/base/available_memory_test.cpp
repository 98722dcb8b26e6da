// SPDX-License-Identifier: Apache-2.0
#include <tally/base/available_memory.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace tally {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// The test writes what a kernel shows of itself into a folder.
class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() {
    std::string pattern = (fs::temp_directory_path() / "tally-memory-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    write("proc/meminfo", "MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\n");
  }
  ~AvailableMemory() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  void write_group(const std::string& folder, const std::string& limit, const std::string& used,
                   const std::string& stat) const {
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", used + "\n");
    write(folder + "/memory.stat", stat);
  }
  std::optional<std::int64_t> bytes() const { return available_memory_bytes(root_); }

 private:
  fs::path root_;
};

TEST_F(AvailableMemory, IsThatOfTheNodeWithoutGroups) { EXPECT_EQ(bytes(), kMiB); }

TEST_F(AvailableMemory, IsUnknownWhereTheKernelDoesNotSay) {
  write("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: unknown\n");
  EXPECT_EQ(bytes(), std::nullopt);
}

TEST_F(AvailableMemory, IsKnownWhereNothingIsLeft) {
  write("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: 0 kB\n");
  EXPECT_EQ(bytes(), 0);
}

TEST_F(AvailableMemory, IsWhatTheGroupLeavesWithPagesOfFiles) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("sys/fs/cgroup/job/step", "1000", "700",
              "anon 650\ninactive_file 30\nactive_file 20\nfile 50\n");
  EXPECT_EQ(bytes(), 1000 - 700 + 30 + 20);
}

TEST_F(AvailableMemory, IsTheLeastOfAllGroupsAround) {
  write("proc/self/cgroup", "0::/job/step\n");
  write_group("sys/fs/cgroup/job/step", "max", "700", "");
  write_group("sys/fs/cgroup/job", "900", "800", "");
  write_group("sys/fs/cgroup", "1000", "850", "");
  EXPECT_EQ(bytes(), 100);
}

// A container sees its own group as the root.
TEST_F(AvailableMemory, CountsTheLimitOfTheRoot) {
  write("proc/self/cgroup", "0::/\n");
  write_group("sys/fs/cgroup", "1000", "400", "");
  EXPECT_EQ(bytes(), 600);
}

TEST_F(AvailableMemory, IsFoundBesideControllersOfVersion1) {
  write("proc/self/cgroup", "3:cpu:/\n0::/job\n");
  write_group("sys/fs/cgroup/unified/job", "1000", "300", "");
  EXPECT_EQ(bytes(), 700);
}

TEST_F(AvailableMemory, IsNotNegative) {
  write("proc/self/cgroup", "0::/job\n");
  write_group("sys/fs/cgroup/job", "1000", "1300", "");
  EXPECT_EQ(bytes(), 0);
}

TEST_F(AvailableMemory, NeedsALimitAndWhatIsUsed) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "1000\n");
  EXPECT_EQ(bytes(), kMiB);
}

TEST_F(AvailableMemory, IsThatOfTheNodeWhereGroupsLeaveMore) {
  write("proc/self/cgroup", "0::/job\n");
  write_group("sys/fs/cgroup/job", std::to_string(8 * kMiB), "0", "");
  EXPECT_EQ(bytes(), kMiB);
}

TEST_F(AvailableMemory, IsThatOfAGroupAloneWhereTheNodeDoesNotSay) {
  write("proc/meminfo", "");
  write("proc/self/cgroup", "0::/job\n");
  write_group("sys/fs/cgroup/job", "1000", "300", "");
  EXPECT_EQ(bytes(), 700);
}

// Older systems have a hierarchy for each controller, and count what groups below use by names of
// its own.
class AvailableMemoryOfVersion1 : public AvailableMemory {
 protected:
  AvailableMemoryOfVersion1() {
    write("proc/self/cgroup",
          "11:cpuset:/other\n7:xmemory:/wrong\n4:cpu,memory:/job/step\n1:name=systemd:/x\n0::/\n");
    write_limit("/wrong", "1", "1");
    write_limit("/other", "1", "1");
  }
  void write_limit(const std::string& group, const std::string& limit, const std::string& used,
                   const std::string& stat = "") const {
    const std::string folder = "sys/fs/cgroup/memory" + group;
    write(folder + "/memory.limit_in_bytes", limit + "\n");
    write(folder + "/memory.usage_in_bytes", used + "\n");
    write(folder + "/memory.stat", stat);
  }
  static constexpr const char* kNone = "9223372036854771712";
};

TEST_F(AvailableMemoryOfVersion1, IsWhatTheGroupLeaves) {
  write_limit("/job", "1000", "900",
              "inactive_file 1\nactive_file 2\nhierarchical_memsw_limit 18446744073709551615\n"
              "total_inactive_file 40\ntotal_active_file 50\n");
  write_limit("/job/step", kNone, "900");
  EXPECT_EQ(bytes(), 1000 - 900 + 40 + 50);
}

// The counts are not of one moment: pages of files may seem to be more than all that is used.
TEST_F(AvailableMemoryOfVersion1, IsThatOfTheNodeWithoutALimit) {
  write_limit("/job", kNone, "100", "total_inactive_file 10000\n");
  EXPECT_EQ(bytes(), kMiB);
}

TEST_F(AvailableMemoryOfVersion1, CountsTheLimitOfTheRootWhereTheGroupIsNotSeen) {
  write_limit("", "1000", "400");
  EXPECT_EQ(bytes(), 600);
}

TEST_F(AvailableMemoryOfVersion1, IsThatOfTheNodeWhereLinesAreOfNoKnownForm) {
  write("proc/self/cgroup", "nonsense\n4:memory\n\n:::\n");
  EXPECT_EQ(bytes(), kMiB);
}

TEST(AvailableMemoryHere, IsANumber) {
  const auto bytes = available_memory_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_GE(*bytes, 0);
  EXPECT_LT(*bytes, std::int64_t{1} << 50);
}

}  // namespace
}  // namespace tally
