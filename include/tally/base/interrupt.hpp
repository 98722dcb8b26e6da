// SPDX-License-Identifier: Apache-2.0
// Removes the files of a result that is not complete when a signal ends the process (Ctrl-C, a
// terminal that is gone, a time limit, a failed peer whose MPI_Abort ends the job), or lets the
// signal only ask a process to stop. Such signals are SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM,
// SIGUSR1, SIGUSR2 and SIGXCPU; all but the first two stay ignored where the process was started
// so.
#pragma once

#include <filesystem>
#include <vector>

#include <tally/base/progress_folder.hpp>

namespace tally {

struct Rename {
  std::filesystem::path from, to;
};

// What a run can be resumed from: where a signal finds that `folder` has to stay, so do `files`,
// and the process ends with exit code 75.
struct KeptProgress {
  ProgressFolder folder;
  std::vector<std::filesystem::path> files;
};

// From now on the signals remove these files, undo what was set aside, remove what comes last
// (folders only if they are empty), and end the process as they would have. Replaces an earlier
// list; empty lists restore the default.
void remove_on_interrupt(const std::vector<std::filesystem::path>& files,
                         const std::vector<std::filesystem::path>& last,
                         const std::vector<Rename>& renames = {}, const KeptProgress& kept = {});

// While it lives, a signal waits for its end: for a few quick steps that belong together.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
};

// For the other ranks of such a process: from now on the signals end this one two seconds later,
// or the launcher does before. Open MPI's mpirun kills all that are left as soon as one of those
// that it sent SIGTERM is gone, so that they must not go before the rank that cleans up.
void wait_on_interrupt();

// For a process that can go on later: while it lives, the signals only ask it to stop, whatever is
// said above; a second SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGALRM does what they do, but for
// another SIGTERM within a second. So does, with a delay, a SIGTERM of Open MPI's launcher, which
// kills soon after it. One within another does nothing.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  bool is_outermost_;
};
// Whether a signal did so since the outermost one began.
bool asked_to_stop();

// For a rank of a job: from now on the end of the process that started this one, the launcher, does
// what SIGTERM does that does not only ask, even if nothing else told this process to end. A
// launcher that gets two signals, or one that it cannot catch, leaves its ranks to themselves.
void end_with_launcher();

// From now on a write that has no reader, or exceeds the limit of a file's size, fails and does not
// end the process.
void let_writes_fail();

// Thrown where work ends because a signal asked for that.
struct StopRequested {};

}  // namespace tally
