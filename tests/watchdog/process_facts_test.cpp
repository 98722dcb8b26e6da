// SPDX-License-Identifier: Apache-2.0
#include "process_facts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include <tally/base/files.hpp>

namespace tally::watchdog {
namespace {

constexpr std::uint64_t kBytesRead = 1 << 20;

// Reads that many bytes of a file that never ends.
void read_some() {
  const UniqueDescriptor file(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> bytes;
  for (std::uint64_t done = 0; done < kBytesRead; done += bytes.size()) {
    ASSERT_EQ(::read(file.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
}

std::uint64_t seen_by_another_thread() {
  std::uint64_t bytes = 0;
  std::thread asks([&] { bytes = bytes_moved_by_others(); });
  asks.join();
  return bytes;
}

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// The thread that asks does not count: its own reads would look like progress of the others.
TEST(BytesMoved, AreThoseOfTheOtherThreads) {
  if (::access("/proc/self/io", R_OK) != 0) {
    GTEST_SKIP() << "this system does not count what threads read";
  }
  const auto own_before = bytes_moved_by_others(), before = seen_by_another_thread();
  read_some();
  EXPECT_LT(bytes_moved_by_others(), own_before + kBytesRead);
  EXPECT_GE(seen_by_another_thread(), before + kBytesRead);
}

TEST(HasEnded, IsTrueOnceAProcessIsWaitedFor) {
  EXPECT_FALSE(has_ended(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_GT(child, 0);
  status_of(child);
  EXPECT_TRUE(has_ended(child));
}

TEST(PidNamespace, IsTheSameForAChild) {
  const auto own = pid_namespace();
  if (::access("/proc/self/ns/pid", F_OK) == 0) {
    EXPECT_NE(own, 0U);
  }
  const pid_t child = ::fork();
  if (child == 0) ::_exit(pid_namespace() == own ? 0 : 1);
  ASSERT_GT(child, 0);
  EXPECT_EQ(status_of(child), 0);
}

}  // namespace
}  // namespace tally::watchdog
