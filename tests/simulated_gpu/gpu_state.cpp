// SPDX-License-Identifier: Apache-2.0
#include "gpu_state.hpp"

#include <cstdlib>
#include <utility>

#include "chance.hpp"
#include "simulated_gpu.hpp"

namespace simulated_gpu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

Gpu* make_gpu() {
  seed(first_seed());
  return new Gpu;  // lives as long as the process: its memory is freed by destructors at exit
}

}  // namespace

Gpu& gpu() {
  static Gpu* const kGpu = make_gpu();
  return *kGpu;
}

std::uint64_t first_seed() {
  const char* const given = std::getenv("TALLY_GPU_SEED");
  return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
}

void restart(std::uint64_t number) {
  const std::lock_guard lock(gpu().mutex);
  gpu().streams.run_all();
  gpu().memory.reset();
  gpu().accesses.reset();
  gpu().streams = Streams();
  gpu().default_stream = gpu().streams.create();
  gpu().failures.clear();
  gpu().num_host_waits = 0;
  gpu().num_allocations = 0;
  last_error = cudaSuccess;
  seed(number);
}

void fail_call(const std::string& function, int nth, cudaError_t error) {
  const std::lock_guard lock(gpu().mutex);
  gpu().failures[function][nth] = error;
}

std::int64_t num_host_waits() {
  const std::lock_guard lock(gpu().mutex);
  return gpu().num_host_waits;
}

std::int64_t num_allocations() {
  const std::lock_guard lock(gpu().mutex);
  return gpu().num_allocations;
}

Call::Call(const char* function) : function_(function), lock_(gpu().mutex) {
  gpu().streams.run_some();
  const auto found = gpu().failures.find(function);
  if (found == gpu().failures.end()) return;
  std::map<int, cudaError_t> later;
  for (const auto& [nth, error] : found->second) {
    if (nth == 1) failure_ = error;
    if (nth > 1) later[nth - 1] = error;
  }
  found->second = later;
}

Call::~Call() { gpu().streams.run_some(); }

cudaError_t Call::end(cudaError_t result) const {
  if (result != cudaSuccess) last_error = result;
  return result;
}

int Call::number_of(cudaStream_t stream) const {
  if (stream == nullptr) return gpu().default_stream;
  if (stream->is_destroyed) misuse(std::string(function_) + " of a stream that was destroyed");
  return stream->number;
}

CUevent_st& Call::checked(cudaEvent_t event) const {
  if (event == nullptr || event->is_destroyed) {
    misuse(std::string(function_) + " of an event that was destroyed");
  }
  return *event;
}

}  // namespace simulated_gpu

cudaError_t cudaGetLastError() { return std::exchange(simulated_gpu::last_error, cudaSuccess); }
