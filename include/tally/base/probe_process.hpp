// SPDX-License-Identifier: Apache-2.0
// Tries what may crash, never end or take all memory in a process of its own, so that this one goes
// on whatever comes of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include <tally/base/files.hpp>

namespace tally {

// What an attempt may take.
struct ProbeLimits {
  std::int64_t cpu_s = 2;  // of processor time: waiting for a slow file system costs none
  std::int64_t wall_s = 600;
  std::int64_t memory_bytes = std::int64_t{1} << 30;  // besides what the process has already
};

struct ProbeOutcome {
  enum class End {
    ended,      // `answer` is what it returned
    crashed,    // `signal` says by which signal; 0 where a sanitizer ended the process
    too_slow,   // cpu_s is over
    waited,     // wall_s is over, and cpu_s is not
    too_large,  // memory_bytes were not enough
    not_tried,  // there is no process that could try
  };
  End end = End::not_tried;
  int signal = 0;
  std::string answer = {};
};

// A process that was forked before there were threads, MPI or a GPU, after which nothing safe can
// be done in a fork. It waits, and forks one process for each attempt. Ends with this object, or
// when this process ends in any way; signals for the whole group (Ctrl-C) do not reach it. What it
// writes to standard streams is lost, and it keeps no descriptor open.
class ProbeProcess {
 public:
  // What comes back is cut to 4 KiB. Throws std::bad_alloc where the memory is not enough; any
  // other exception is a crash.
  using Attempt = std::function<std::string(const std::string& subject)>;

  // Before the first thread is started. Where no process can be forked, nothing is tried.
  explicit ProbeProcess(const Attempt& attempt);
  ~ProbeProcess();
  ProbeProcess(const ProbeProcess&) = delete;
  ProbeProcess& operator=(const ProbeProcess&) = delete;

  // From several threads, one after the other.
  ProbeOutcome attempt(const std::string& subject, const ProbeLimits& limits);

 private:
  std::mutex mutex_;
  UniqueDescriptor socket_;
  pid_t process_ = -1;
};

}  // namespace tally
