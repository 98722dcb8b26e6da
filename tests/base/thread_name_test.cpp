// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <tally/base/thread_name.hpp>

namespace tally {
namespace {

std::string name_of_this_thread() {
  std::ifstream file("/proc/thread-self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

TEST(ThreadName, IsThatOfTheCallingThreadAlone) {
  const auto before = name_of_this_thread();
  std::string seen;
  std::thread([&] {
    name_thread("tally-watchdog");
    seen = name_of_this_thread();
  }).join();
  EXPECT_EQ(seen, "tally-watchdog");
  EXPECT_EQ(name_of_this_thread(), before);
}

TEST(ThreadName, StaysWhereTheNewOneIsTooLong) {
  std::thread([] {
    name_thread("short");
    name_thread("a name of more than 15 bytes");
    EXPECT_EQ(name_of_this_thread(), "short");
  }).join();
}

}  // namespace
}  // namespace tally
