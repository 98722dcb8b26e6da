// SPDX-License-Identifier: Apache-2.0
// CUDA's runtime: streams and events.
#include <cuda_runtime_api.h>

#include <chrono>

#include "chance.hpp"
#include "gpu_state.hpp"

using simulated_gpu::Call;
using simulated_gpu::gpu;
using simulated_gpu::Operation;
using simulated_gpu::Point;

namespace {

double milliseconds_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

void learn(const Point& point) {
  gpu().streams.host_knows(point);
  gpu().memory.unlock(gpu().streams);
}

// Whether the point is reached; if so, the host knows it.
cudaError_t look(const Call& call, const Point& point) {
  if (call.failure() != cudaSuccess) return call.end(call.failure());
  if (!gpu().streams.is_over(point)) return call.end(cudaErrorNotReady);
  learn(point);
  return cudaSuccess;
}

cudaError_t wait(const Call& call, const Point& point) {
  gpu().streams.run_until(point);
  learn(point);
  return call.end(call.failure());
}

}  // namespace

cudaError_t cudaDeviceSynchronize() {
  const Call call("cudaDeviceSynchronize");
  ++gpu().num_host_waits;
  gpu().streams.run_all();
  gpu().memory.unlock(gpu().streams);
  return call.end(call.failure());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Call call("cudaStreamCreateWithFlags");
  if (call.failure() == cudaSuccess) *stream = new CUstream_st{gpu().streams.create()};
  return call.end(call.failure());
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call("cudaStreamDestroy");
  call.number_of(stream);
  stream->is_destroyed = true;  // kept, so that a later use of it is noticed
  return call.end(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call("cudaStreamQuery");
  return look(call, gpu().streams.end_of(call.number_of(stream)));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call("cudaStreamSynchronize");
  ++gpu().num_host_waits;
  return wait(call, gpu().streams.end_of(call.number_of(stream)));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call("cudaStreamWaitEvent");
  const auto& recorded = call.checked(event).recorded;
  if (call.failure() == cudaSuccess && recorded) {
    gpu().streams.wait(call.number_of(stream), *recorded);
  }
  return call.end(call.failure());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Call call("cudaEventCreateWithFlags");
  if (call.failure() == cudaSuccess) {
    *event = new CUevent_st;
    (*event)->is_timed = (flags & cudaEventDisableTiming) == 0;
  }
  return call.end(call.failure());
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call("cudaEventDestroy");
  call.checked(event).is_destroyed = true;
  return call.end(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Call call("cudaEventRecord");
  auto& found = call.checked(event);
  if (call.failure() != cudaSuccess) return call.end(call.failure());
  const int number = call.number_of(stream);
  if (found.is_timed) {
    gpu().streams.enqueue(number, "a time stamp",
                          [&found](const Operation&) { found.milliseconds = milliseconds_now(); });
  }
  found.recorded = gpu().streams.end_of(number);
  return call.end(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call("cudaEventQuery");
  const auto& recorded = call.checked(event).recorded;
  return recorded ? look(call, *recorded) : call.end(call.failure());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call("cudaEventSynchronize");
  const auto& recorded = call.checked(event).recorded;
  return recorded ? wait(call, *recorded) : call.end(call.failure());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  const Call call("cudaEventElapsedTime");
  const auto& from = call.checked(first);
  const auto& to = call.checked(second);
  if (!from.is_timed || !to.is_timed || !from.recorded || !to.recorded) {
    return call.end(cudaErrorInvalidValue);
  }
  if (!gpu().streams.is_over(*from.recorded) || !gpu().streams.is_over(*to.recorded)) {
    return call.end(cudaErrorNotReady);
  }
  *milliseconds = static_cast<float>(to.milliseconds - from.milliseconds);
  return call.end(cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t) { return "as the test asked"; }
