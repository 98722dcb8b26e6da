// SPDX-License-Identifier: Apache-2.0
// Lets a process that dies of a defect, its own or a library's, say what it was at: SIGILL, SIGBUS,
// SIGSEGV, SIGFPE, SIGABRT and exceptions that nobody catches print the line of other failures,
// remove what is incomplete (interrupt.hpp), and end the process as they would have.
#pragma once

#include <functional>
#include <string_view>

namespace tally {

// The parts of a failure, for a file beside its line. The texts are UTF-8 without control
// characters.
struct FailureRecord {
  int code = 0;                  // of the process, as a shell has it: 128 + the signal's number
  std::string_view signal = {};  // "SIGSEGV"; empty where no signal came
  int rank = 0;
  std::string_view host = {};
  std::string_view phase = {};  // both empty where they are not known
  std::string_view object = {};
  std::string_view cause = {};
  std::string_view next_step = {};  // may be empty
};

// From now on, on every thread. Signals that something handles already (a sanitizer, a library that
// was loaded before the program) are left alone. Takes no memory: it may be called before main().
void speak_of_fatal_signals() noexcept;

// The rank that the lines name; in a job of one they name none. A rank that is not known is -1.
void name_rank_of_failures(int rank, int world_size) noexcept;
struct RankOfFailures {
  int rank, world_size;
};
RankOfFailures rank_of_failures() noexcept;

// A word that the ranks of this node share, 0 while none has failed: the one that sets it
// speaks, others end in silence. Null, as at first: this process has one of its own.
void share_failure_claim(int* word) noexcept;
// Claims that this rank's failure, with this exit code (not 0), ends the job: 0 if it is the first
// to do so on its node, else the code of the first. Async-signal-safe.
int claim_failure(int code) noexcept;
// The code of the rank that did; 0 so far.
int claimed_failure() noexcept;

// `recorder` gets the failures that end the process, after their line and before anything is
// removed: perhaps in a signal handler, so that it may call async-signal-safe functions alone.
// Null, as at first: none gets them.
void record_failures(void (*recorder)(const FailureRecord&) noexcept) noexcept;
// Ends the process with this code from any thread, without unwinding: `first` is called, and what
// is incomplete removed (interrupt.hpp), but no progress. A file system that does not answer holds
// it up for some seconds only. Not for signal handlers.
[[noreturn]] void end_process(int code, const std::function<void()>& first = {});

// Hands it a failure whose line is printed already.
void record_failure(const FailureRecord& failure) noexcept;

}  // namespace tally
