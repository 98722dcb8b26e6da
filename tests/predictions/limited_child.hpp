// SPDX-License-Identifier: Apache-2.0
// A full disk, as a process limit: files larger than `max_file_bytes` cannot be written (EFBIG).
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include <tally/base/error.hpp>

namespace tally::predictions {

inline constexpr int kNoError = 0;
inline constexpr int kOtherException = 100;

// Runs `step` in a child process under that limit: exit code of the Error it threw, or one of the
// codes above.
inline int outcome_with_file_limit(rlim_t max_file_bytes, const std::function<void()>& step) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{max_file_bytes, max_file_bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(kOtherException);
    int code = kNoError;
    try {
      step();
    } catch (const Error& error) {
      code = exit_code(error.kind());
    } catch (...) {
      code = kOtherException;
    }
    ::_exit(code);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return kOtherException;
  }
  return WEXITSTATUS(status);
}

}  // namespace tally::predictions
