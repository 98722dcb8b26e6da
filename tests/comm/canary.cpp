// SPDX-License-Identifier: Apache-2.0
// Dies as asked, so that a test can see how the launcher ends: `canary
// pass|agreed|unwinding|together|slow_to_speak|fatal_signal|fatal_signals`.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include <tally/base/current_work.hpp>
#include <tally/base/error.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/mpi_runtime.hpp>

namespace tally::comm {
namespace {

// The last rank fails; the others are, or soon will be, inside a collective.
void run(const Communicator& world, const std::string& how) {
  const bool is_last = world.rank() == world.world_size() - 1;
  if (how == "agreed") {
    agree_on(world, [&] {
      if (is_last) throw Error(ErrorKind::dataset, "planted");
    });
  }
  // A defect of the last rank while the others are in a collective; and of all at once.
  if ((how == "fatal_signal" && is_last) || how == "fatal_signals") {
    begin_phase("evaluate");
    const WorkScope data("data set 'a.h5'");
    if (how == "fatal_signals") world.barrier();
    std::raise(SIGSEGV);
  }
  if (how == "unwinding" && is_last) throw Error(ErrorKind::model, "planted");
  // All fail at once, with different codes, after nobody agreed on anything.
  if (how == "together") {
    world.barrier();
    const auto kind = is_last ? ErrorKind::numeric : ErrorKind::dataset;
    fail_job(world, Error(kind, "planted"));
  }
  // Rank 0 fails first and is slow to say so; the others fail before it has spoken.
  if (how == "slow_to_speak") {
    const Error error(ErrorKind::dataset, "planted");
    if (world.is_root()) claim_failure(exit_code(error.kind()));
    world.barrier();
    if (!world.is_root()) fail_job(world, Error(ErrorKind::numeric, "planted"));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::fprintf(stderr, "%s\n", failure_line(error, 0, 1, "").c_str());
    abort_job(exit_code(error.kind()));
  }
  world.barrier();
}

int guarded(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  speak_of_fatal_signals();
  try {
    Runtime runtime(&argc, &argv);
    try {
      run(runtime.world(), how);
    } catch (const AgreedFailure& failure) {
      return exit_code(failure.kind);
    }
    if (runtime.world().is_root()) std::puts(Runtime::library_version().c_str());
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", failure_line(error, 0, 1, "").c_str());
    abort_job(exit_code(error.kind()));
  }
}

}  // namespace
}  // namespace tally::comm

int main(int argc, char** argv) { return tally::comm::guarded(argc, argv); }
