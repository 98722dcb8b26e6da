// SPDX-License-Identifier: Apache-2.0
#include "kernel_accesses.hpp"

#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstdlib>

#include "chance.hpp"
#include "fibers.hpp"
#include "gpu_state.hpp"

extern char _end, __executable_start;  // NOLINT: the linker's names

namespace simulated_gpu {
namespace {

constexpr unsigned kMostThreads = 1024;  // of a block, on all GPUs

thread_local const Launch* launch_of_now = nullptr;

bool is_within(const void* address, const void* begin, std::size_t num_bytes) {
  const auto* const first = static_cast<const char*>(begin);
  const auto* const place = static_cast<const char*>(address);
  return place >= first && place < first + num_bytes;
}

bool is_of_the_program(const void* address) {
  return is_within(address, &__executable_start,
                   static_cast<std::size_t>(&_end - &__executable_start));
}

// "the kernel of std::tuple<tally::metrics::RowsToScore>"
std::string name_of(const Launch& launch) {
  int status = 0;
  char* const words = abi::__cxa_demangle(launch.type->name(), nullptr, nullptr, &status);
  const std::string name = std::string("the kernel of ") + (status == 0 ? words : "?");
  std::free(words);
  return name;
}

}  // namespace

cudaError_t launch(Launch launch, cudaStream_t stream) {
  const Call call("cudaLaunchKernel");
  if (call.failure() != cudaSuccess) return call.end(call.failure());
  const Grid grid{launch.grid.x, launch.block.x};
  if (grid.blocks == 0 || grid.threads == 0 || grid.threads > kMostThreads) {
    return call.end(cudaErrorInvalidConfiguration);
  }
  const auto name = name_of(launch);
  gpu().streams.enqueue(call.number_of(stream), name, [=](const Operation& operation) {
    gpu().memory.open();
    gpu().accesses.begin(operation);
    launch_of_now = &launch;
    run_kernel(name, grid, launch.kernel);
    gpu().memory.close();
  });
  return call.end(cudaSuccess);
}

void touched_by_thread(const void* address, std::size_t num_bytes, Access access) {
  const auto* const place = running_thread();
  if (place == nullptr || is_on_its_stack(address)) return;
  const OutsideOfKernel looking;
  const bool is_argument = is_within(address, launch_of_now->arguments, launch_of_now->num_bytes);
  if (is_argument && access == Access::read) return;
  may_give_way();
  if (is_of_the_program(address)) {
    gpu().accesses.touch_shared(address, num_bytes, access, *place);
  } else {
    gpu().accesses.touch(address, num_bytes, access, *place);
  }
}

unsigned long long atomic_update(unsigned long long* place, const Update& next) {
  touched_by_thread(place, sizeof *place, Access::atomic);
  const OutsideOfKernel updating;
  const auto old = *place;
  *place = next(old);
  return old;
}

}  // namespace simulated_gpu
