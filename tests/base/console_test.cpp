// SPDX-License-Identifier: Apache-2.0
#include <tally/base/console.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::console {
namespace {

TEST(Console, NothingThatIsPrintedSteersATerminal) {
  testing::internal::CaptureStdout();
  print_line("one\x1b[2J\ntwo");
  print("three\x1b[2J\nfour\n");
  print_json("{\"name\": \"\x7f\"}\n");
  require_written();
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << out;
  EXPECT_EQ(out.find('\x7f'), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4) << out;
}

// In a process that ends: what was lost stays known.
[[noreturn]] void print_to(int descriptor) {
  std::signal(SIGPIPE, SIG_IGN);
  ::dup2(descriptor, STDOUT_FILENO);
  print_line("a line");
  try {
    require_written("Free some space.");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(exit_code(error.kind()));
  }
  std::exit(0);
}

TEST(Console, AFullDiskIsAFailureOfOutput) {
  EXPECT_EXIT(print_to(::open("/dev/full", O_WRONLY)), testing::ExitedWithCode(6),
              "cannot write to standard output \\(No space left on device\\). Free some space");
}

TEST(Console, WhatAReaderLeavesUnreadIsNoFailure) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EXIT(print_to(ends[1]), testing::ExitedWithCode(0), "^$");
  ::close(ends[1]);
}

}  // namespace
}  // namespace tally::console
