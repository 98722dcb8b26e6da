// SPDX-License-Identifier: Apache-2.0
// Everything that the simulated GPU holds, behind one lock: the runtime's calls are functions.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <cuda_runtime_api.h>

#include "accesses.hpp"
#include "memory.hpp"
#include "streams.hpp"

struct CUstream_st {
  int number = 0;
  bool is_destroyed = false;
};

struct CUevent_st {
  bool is_timed = false;
  bool is_destroyed = false;
  std::optional<simulated_gpu::Point> recorded;
  double milliseconds = 0;  // when it was reached
};

namespace simulated_gpu {

struct Gpu {
  std::mutex mutex;
  Memory memory;
  Streams streams;
  Accesses accesses{memory};
  int default_stream = streams.create();
  std::map<std::string, std::map<int, cudaError_t>> failures;  // of calls that are still to come
  std::int64_t num_host_waits = 0;
  std::int64_t num_allocations = 0;
};

Gpu& gpu();

// One call of the runtime: holds the lock, and lets the GPU do some of its work before and after.
class Call {
 public:
  explicit Call(const char* function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // What the call answers if it was to fail; success otherwise.
  cudaError_t failure() const { return failure_; }
  // Remembers what cudaGetLastError() gives.
  cudaError_t end(cudaError_t result) const;

  int number_of(cudaStream_t stream) const;  // null: the default stream
  CUevent_st& checked(cudaEvent_t event) const;

 private:
  const char* function_;
  std::lock_guard<std::mutex> lock_;
  cudaError_t failure_ = cudaSuccess;
};

}  // namespace simulated_gpu
