// SPDX-License-Identifier: Apache-2.0
// A GPU that tests have without one. CUDA's runtime (include/, runtime_*.cpp) is played on the CPU:
// - What a stream is given runs later, when a call of the runtime lets it, in an order that a seed
//   decides and that streams and events allow (streams.hpp).
// - Memory of the GPU cannot be touched by the host, and page-locked memory not while a copy of it
//   may be under way (memory.hpp).
// - Kernels are the .cu files themselves, compiled as C++. Their accesses are looked at: operations
//   and threads that touch the same byte must be in order (accesses.hpp, fibers.hpp).
// - There are TALLY_SIMULATED_GPUS of them, or one.
// What breaks a rule ends the process with a line that names the call and the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace simulated_gpu {

// A new GPU, whose chances follow from the seed. All memory, streams and events are given back
// before. The first one has first_seed().
void restart(std::uint64_t seed);
// TALLY_GPU_SEED, or 1.
std::uint64_t first_seed();

// The `nth` call of `function` from now on fails with `error`: 1 is the next one.
void fail_call(const std::string& function, int nth, cudaError_t error);

struct Bytes {
  const void* begin = nullptr;
  std::size_t num_bytes = 0;
};
// A library's work for the stream, which may touch these bytes of the GPU's memory when its turn
// comes.
void enqueue_work(cudaStream_t stream, const std::string& name, const std::vector<Bytes>& reads,
                  const std::vector<Bytes>& writes, const std::function<void()>& work);

// How often the host has waited for a stream or for all of the GPU since restart(), as freeing
// memory does. Waits for events are not counted: the loop waits for its oldest batch, while later
// ones go on.
std::int64_t num_host_waits();
// How much memory, of the GPU and page-locked, has been asked for since restart().
std::int64_t num_allocations();

}  // namespace simulated_gpu
