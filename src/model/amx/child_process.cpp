#include "amx/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <tally/base/unique_descriptor.hpp>

namespace tally::model {
namespace {

constexpr unsigned kLongestSeconds = 10;  // an attempt that does not end has failed

// A child, not a handler of signals in this process: what is tried may change what the process may
// do (permission for AMX also asks more of every alternate stack), leave state in registers, or end
// in a signal that nobody can return from. vfork() would share the handlers and the memory.
//
// The child ends by itself, because a fault that nobody handles writes a core file, or a line in
// the kernel's log, in every run.
[[noreturn]] void attempt_and_exit(bool (*attempt)(), int result) {
  for (const int fault : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGSYS}) {
    signal(fault, [](int) { _exit(1); });
  }
  alarm(kLongestSeconds);
  const bool is_reported = attempt() && write(result, "+", 1) == 1;
  _exit(is_reported ? 0 : 1);
}

// By a pipe, because a process whose SIGCHLD is ignored, as some launchers leave it, does not
// learn how its child ended.
bool says_success(int result) {
  char answer = 0;
  ssize_t count = 0;
  do count = read(result, &answer, 1);
  while (count < 0 && errno == EINTR);
  return count == 1;
}

}  // namespace

bool succeeds_in_child(bool (*attempt)()) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return true;
  const UniqueDescriptor reading(ends[0]);
  UniqueDescriptor writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return true;
  if (child == 0) attempt_and_exit(attempt, writing.get());
  writing = UniqueDescriptor();  // so that reading ends when the child does
  const bool is_success = says_success(reading.get());
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return is_success;
}

}  // namespace tally::model
