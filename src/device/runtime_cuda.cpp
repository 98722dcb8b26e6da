// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "runtime.hpp"

namespace tally::device::cuda {
namespace {

// The GPU of this process: after an error that stays, CUDA answers no question about it.
std::string& gpu_in_use() {
  static std::string name = "the GPU";
  return name;
}

// Under which number the driver tells of such an error in the kernel's log, where it does
// (https://docs.nvidia.com/deploy/xid-errors); 0: under none that is sure.
int xid_of(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
      return 48;
    case cudaErrorNvlinkUncorrectable:
      return 74;
    case cudaErrorIllegalAddress:
      return 31;
    case cudaErrorLaunchFailure:
      return 13;
    default:
      return 0;
  }
}

std::string next_step_for(cudaError_t code) {
  if (code == cudaErrorMemoryAllocation) return "Use a smaller --batch-size.";
  const int xid = xid_of(code);
  return xid == 0 ? ""
                  : format("Look for 'Xid' {} of this GPU in the kernel's log ('dmesg').", xid);
}

// `call` names what was done for the user: work that was enqueued before may be what failed, for
// CUDA reports it from a later call.
Error failure(cudaError_t code, std::string_view call) {
  return {ErrorKind::environment,
          format("{} failed on {} ({}: {})", call, gpu_in_use(), cudaGetErrorName(code),
                 cudaGetErrorString(code)),
          next_step_for(code)};
}

void check(cudaError_t code, std::string_view call) {
  if (code == cudaSuccess) return;
  // The thread's last error: the next launch would be blamed for it.
  static_cast<void>(cudaGetLastError());
  throw failure(code, call);
}

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

// Every call belongs to the device that its thread has chosen.
void choose(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

// Tells whether a query found all work over; "not yet" is no error.
bool over(cudaError_t code, std::string_view call) {
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // it would be found by the next check of a launch
    return false;
  }
  check(code, call);
  return true;
}

cudaEvent_t make_event(int device, unsigned flags) {
  choose(device);
  cudaEvent_t event = nullptr;
  // A waiting host sleeps: the core belongs to the reader.
  check(cudaEventCreateWithFlags(&event, flags | cudaEventBlockingSync), "cudaEventCreate");
  return event;
}

}  // namespace

std::byte* allocate_pinned(std::size_t num_bytes, int device) {
  choose(device);
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, num_bytes, cudaHostAllocDefault), "cudaHostAlloc");
  // CUDA does not clear it, and buffers are zero at first.
  std::memset(memory, 0, num_bytes);
  return static_cast<std::byte*>(memory);
}

std::byte* allocate(std::size_t num_bytes, int device) {
  choose(device);
  void* memory = nullptr;
  check(cudaMalloc(&memory, num_bytes), "cudaMalloc");
  // The memory is cleared on the default stream, and the host waits for it: streams that are made
  // later do not wait for that stream by themselves.
  check(cudaMemset(memory, 0, num_bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return static_cast<std::byte*>(memory);
}

// Errors are ignored where memory is freed: after a failed kernel every call returns its error,
// which was reported already.
void free_pinned(std::byte* memory) noexcept { static_cast<void>(cudaFreeHost(memory)); }
void free(std::byte* memory) noexcept { static_cast<void>(cudaFree(memory)); }

void* make_stream(int device, std::string_view uuid) {
  if (!uuid.empty()) gpu_in_use() = uuid;
  choose(device);
  cudaStream_t stream = nullptr;
  // Such a stream does not wait for the default stream, on which libraries may work.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

void destroy_stream(void* stream) noexcept {
  static_cast<void>(cudaStreamDestroy(as_stream(stream)));
}

void copy_to_device(std::byte* to, std::span<const std::byte> from, void* stream) {
  check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, as_stream(stream)),
        "a copy to the GPU");
}

void copy_to_host(std::byte* to, std::span<const std::byte> from, void* stream) {
  check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyDeviceToHost, as_stream(stream)),
        "a copy from the GPU");
}

void fill_zero(std::span<std::byte> bytes, void* stream) {
  check(cudaMemsetAsync(bytes.data(), 0, bytes.size(), as_stream(stream)), "cudaMemsetAsync");
}

void wait_for(void* stream, void* event) {
  check(cudaStreamWaitEvent(as_stream(stream), as_event(event), cudaEventWaitDefault),
        "cudaStreamWaitEvent");
}

bool is_done(void* stream) { return over(cudaStreamQuery(as_stream(stream)), "work"); }

void synchronize(void* stream) { check(cudaStreamSynchronize(as_stream(stream)), "work"); }

// An event without time is cheaper; it only keeps the order.
void* make_event(int device) { return make_event(device, cudaEventDisableTiming); }
void* make_timed_event(int device) { return make_event(device, cudaEventDefault); }

void destroy_event(void* event) noexcept { static_cast<void>(cudaEventDestroy(as_event(event))); }

void record(void* event, void* stream) {
  check(cudaEventRecord(as_event(event), as_stream(stream)), "cudaEventRecord");
}

bool has_happened(void* event) { return over(cudaEventQuery(as_event(event)), "work"); }

void wait(void* event) { check(cudaEventSynchronize(as_event(event)), "work"); }

double milliseconds_between(void* first, void* second) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, as_event(first), as_event(second)), "timing");
  return milliseconds;
}

void check_launch(std::string_view kernel) {
  check(cudaGetLastError(), format("the launch of kernel '{}'", kernel));
}

}  // namespace tally::device::cuda
