// SPDX-License-Identifier: Apache-2.0
// A job whose NCCL hangs where no deadline of its own helps, so that a test can see how the
// launcher ends: `nccl_canary peer_hangs|abort_hangs`.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include <tally/comm/agree.hpp>
#include <tally/comm/mpi_runtime.hpp>

#include "nccl_reducer.hpp"

namespace tally::comm {
namespace {

// Never gets anywhere; the last rank, where asked, not even back from its first call.
NcclCalls hanging_calls(const Communicator& world, const std::string& how) {
  NcclCalls calls;
  calls.header_version = 22809;
  calls.get_version = [](int& version) {
    version = 22809;
    return NcclCode::success;
  };
  calls.get_unique_id = [](NcclUniqueId&) { return NcclCode::success; };
  const bool is_last = world.rank() == world.world_size() - 1;
  calls.init = [how, is_last](NcclHandle& comm, int, std::span<const NcclUniqueId>, int) {
    static int communicator = 0;
    comm = &communicator;
    while (is_last && how == "peer_hangs") pause();
    return NcclCode::in_progress;
  };
  calls.async_error = [](NcclHandle, NcclCode& state) {
    state = NcclCode::in_progress;
    return NcclCode::success;
  };
  calls.last_error = [](NcclHandle) { return std::string(); };
  calls.abort = [](NcclHandle) { return NcclCode::success; };
  return calls;
}

// Time passes with each look at the clock; work on another thread never ends.
NcclPatience impatience() {
  NcclPatience patience;
  patience.now = [milliseconds = 0]() mutable { return std::chrono::milliseconds(++milliseconds); };
  patience.rest = [] {};
  patience.aside = [](const std::function<void()>&) {};
  return patience;
}

void run(const Communicator& world, const std::string& how) {
  try {
    const NcclReducer reducer(world, {DeviceKind::cpu, 0, "a CPU"}, hanging_calls(world, how),
                              impatience());
  } catch (const AgreedFailure&) {
    std::puts("left in order");
  } catch (const Error& error) {
    fail_job(world, error);
  }
}

}  // namespace
}  // namespace tally::comm

int main(int argc, char** argv) {
  tally::comm::Runtime runtime(&argc, &argv);
  tally::comm::run(runtime.world(), argc > 1 ? argv[1] : "");
  return 0;
}
