// SPDX-License-Identifier: Apache-2.0
#include <tally/base/probe_process.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally {
namespace {

using End = ProbeOutcome::End;

int depth_of_endless_recursion(volatile int* above) {
  volatile int here = *above + 1;
  if (here < 0) return 0;  // never: the stack has fewer frames
  return depth_of_endless_recursion(&here) + here;
}

// In the process of an attempt: those besides the standard streams. One is for its answer.
int num_open_descriptors() {
  int count = 0;
  for (int descriptor = STDERR_FILENO + 1; descriptor < 1024; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) ++count;
  }
  return count;
}

bool leads_nowhere(int descriptor) {
  struct stat found {};
  struct stat nowhere {};
  return ::fstat(descriptor, &found) == 0 && ::stat("/dev/null", &nowhere) == 0 &&
         found.st_rdev == nowhere.st_rdev;
}

std::string misbehave(const std::string& how) {
  volatile int* volatile nowhere = nullptr;
  if (how == "crash") *nowhere = 1;
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("wrong");
  if (how == "no memory") throw std::bad_alloc();
  if (how == "wait") ::pause();
  if (how == "descriptors") return std::to_string(num_open_descriptors());
  if (how == "output")
    return leads_nowhere(STDOUT_FILENO) && leads_nowhere(STDERR_FILENO) ? "no" : how;
  volatile int depth = 0;
  if (how == "recurse") depth = depth_of_endless_recursion(&depth);
  for (volatile bool goes_on = how == "loop"; goes_on;) {
  }
  std::vector<std::vector<char>> eaten;
  while (how == "eat") eaten.emplace_back(std::size_t{1} << 20, 'x');
  return how == "long" ? std::string(std::size_t{1} << 20, 'x') : how;
}

std::vector<pid_t> children() {
  const std::string self = std::to_string(::getpid());
  std::ifstream file("/proc/" + self + "/task/" + self + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return found;
}

constexpr ProbeLimits kShort{.cpu_s = 1, .wall_s = 60, .memory_bytes = std::int64_t{64} << 20};

TEST(ProbeProcess, SaysHowAnAttemptEnded) {
  ProbeProcess probe(misbehave);
  const auto end_of = [&](const std::string& how) { return probe.attempt(how, kShort).end; };
  EXPECT_EQ(end_of("nothing"), End::ended);
  EXPECT_EQ(probe.attempt("nothing", kShort).answer, "nothing");
  EXPECT_EQ(probe.attempt("long", kShort).answer, std::string(4096, 'x'));
  EXPECT_EQ(end_of("throw"), End::crashed);
  EXPECT_EQ(end_of("crash"), End::crashed);
  EXPECT_EQ(probe.attempt("abort", kShort).signal, SIGABRT);
  EXPECT_EQ(end_of("recurse"), End::crashed);
  EXPECT_EQ(end_of("no memory"), End::too_large);
  // Sanitizers end a process that has no memory left.
  EXPECT_THAT(end_of("eat"), testing::AnyOf(End::too_large, End::crashed));
  EXPECT_EQ(end_of("loop"), End::too_slow);
  EXPECT_EQ(probe.attempt("wait", {.wall_s = 0}).end, End::waited);
  EXPECT_EQ(end_of(std::string(100'000, 'x')), End::not_tried);
  EXPECT_EQ(end_of("nothing"), End::ended) << "the process lives on";
}

TEST(ProbeProcess, KeepsNothingOpen) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ProbeProcess probe(misbehave);
  EXPECT_EQ(probe.attempt("descriptors", kShort).answer, "2") << "the ends of a pipe";
  EXPECT_EQ(probe.attempt("output", kShort).answer, "no");
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 0) << "a reader waits for the other end to be closed";
  ::close(pipe[0]);
}

TEST(ProbeProcess, LeavesNoProcess) {
  {
    ProbeProcess probe(misbehave);
    EXPECT_EQ(children().size(), 1U);
    for (const char* how : {"nothing", "crash", "eat"}) probe.attempt(how, kShort);
    EXPECT_EQ(children().size(), 1U);
  }
  EXPECT_TRUE(children().empty());
}

// Ctrl-C, and the warnings of batch systems, are sent to the whole group.
TEST(ProbeProcess, OutlivesSignalsForTheGroup) {
  ProbeProcess probe(misbehave);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGCHLD}) {
    ASSERT_EQ(::kill(children().at(0), signal), 0);
  }
  EXPECT_EQ(probe.attempt("nothing", kShort).end, End::ended);
  EXPECT_EQ(probe.attempt("crash", kShort).end, End::crashed);
}

TEST(ProbeProcess, WorksWhereTheEndOfChildrenIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    ProbeProcess probe(misbehave);
    EXPECT_EQ(probe.attempt("crash", kShort).end, End::crashed);
  }
  std::signal(SIGCHLD, before);
}

TEST(ProbeProcess, GoesOnWithoutOne) {
  ProbeProcess probe(misbehave);
  ASSERT_EQ(::kill(children().at(0), SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(probe.attempt("crash", kShort).end, End::not_tried);
}

TEST(ProbeProcess, EndsWithItsParent) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that the orphans are ours to wait for
  const pid_t parent = ::fork();
  if (parent == 0) {
    ProbeProcess probe(misbehave);
    if (probe.attempt("nothing", kShort).end != End::ended) ::_exit(1);
    ::_exit(0);  // without any destructor
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  const pid_t orphan = ::waitpid(-1, &status, 0);
  EXPECT_GT(orphan, 0);
  EXPECT_TRUE(children().empty());
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace tally
