// SPDX-License-Identifier: Apache-2.0
// CUDA's runtime: devices and memory.
#include <cstdlib>
#include <cstring>

#include "chance.hpp"
#include "gpu_state.hpp"

using simulated_gpu::Access;
using simulated_gpu::Allocation;
using simulated_gpu::Call;
using simulated_gpu::gpu;
using simulated_gpu::Kind;
using simulated_gpu::misuse;
using simulated_gpu::Operation;

namespace {

constexpr int kDriver = CUDART_VERSION;

// Their memory is the same: a process works with one of them.
int num_gpus() {
  const char* const given = std::getenv("TALLY_SIMULATED_GPUS");
  return given == nullptr ? 1 : std::atoi(given);
}

cudaError_t allocate(const Call& call, Kind kind, void** memory, std::size_t num_bytes) {
  if (call.failure() != cudaSuccess) return call.end(call.failure());
  ++gpu().num_allocations;
  *memory = gpu().memory.allocate(kind, num_bytes);
  return call.end(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

// Freeing waits for all that was enqueued.
cudaError_t release(const Call& call, Kind kind, void* memory) {
  if (memory == nullptr) return cudaSuccess;
  ++gpu().num_host_waits;
  gpu().streams.run_all();
  gpu().memory.unlock(gpu().streams);
  gpu().memory.free(kind, memory);
  return call.end(cudaSuccess);
}

// Runs `work`, which may touch these bytes of the GPU.
template <class Work>
void on_device(const Operation& operation, void* bytes, std::size_t num_bytes, Access access,
               const Work& work) {
  gpu().memory.open();
  gpu().accesses.begin(operation);
  gpu().accesses.touch(bytes, num_bytes, access, {});
  work();
  gpu().memory.close();
}

void fill(int stream, void* memory, int value, std::size_t num_bytes) {
  gpu().streams.enqueue(stream, "a memset", [=](const Operation& operation) {
    on_device(operation, memory, num_bytes, Access::write,
              [&] { std::memset(memory, value, num_bytes); });
  });
}

// Of the host, and page-locked; held until the host knows that the copy is over.
Allocation& pinned(const void* memory, std::size_t num_bytes, const char* copy) {
  auto* const found = gpu().memory.find(memory, num_bytes);
  if (found == nullptr || found->kind != Kind::pinned) {
    misuse(std::string(copy) + " has memory of the host that is not page-locked");
  }
  return *found;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = num_gpus();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= num_gpus()) return cudaErrorInvalidDevice;
  *properties = {"simulated", {{1, 2, 3, static_cast<char>(device)}}, 9, 0, device + 1, 0, 0};
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Call call("cudaSetDevice");
  const bool is_there = device >= 0 && device < num_gpus();
  return call.end(is_there ? call.failure() : cudaErrorInvalidDevice);
}

cudaError_t cudaMalloc(void** memory, std::size_t num_bytes) {
  return allocate(Call("cudaMalloc"), Kind::device, memory, num_bytes);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t num_bytes, unsigned) {
  return allocate(Call("cudaHostAlloc"), Kind::pinned, memory, num_bytes);
}

cudaError_t cudaFree(void* memory) { return release(Call("cudaFree"), Kind::device, memory); }

cudaError_t cudaFreeHost(void* memory) {
  return release(Call("cudaFreeHost"), Kind::pinned, memory);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Call call("cudaMemGetInfo");
  *free = gpu().memory.num_free();
  *total = simulated_gpu::Memory::kSize;
  return call.end(call.failure());
}

cudaError_t cudaMemset(void* memory, int value, std::size_t num_bytes) {
  const Call call("cudaMemset");
  if (call.failure() == cudaSuccess) fill(gpu().default_stream, memory, value, num_bytes);
  return call.end(call.failure());
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t num_bytes, cudaStream_t stream) {
  const Call call("cudaMemsetAsync");
  if (call.failure() == cudaSuccess) fill(call.number_of(stream), memory, value, num_bytes);
  return call.end(call.failure());
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t num_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call("cudaMemcpyAsync");
  if (call.failure() != cudaSuccess || num_bytes == 0) return call.end(call.failure());
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  const char* const name = to_host ? "a copy to the host" : "a copy to the GPU";
  auto* const on_host = static_cast<std::byte*>(to_host ? to : const_cast<void*>(from));
  auto* const on_gpu = to_host ? const_cast<void*>(from) : to;
  auto& held = pinned(on_host, num_bytes, name);
  const int number = call.number_of(stream);
  const auto operation = gpu().streams.enqueue(number, name, [=](const Operation& one) {
    on_device(one, on_gpu, num_bytes, to_host ? Access::read : Access::write, [&] {
      gpu().accesses.touch(on_host, num_bytes, to_host ? Access::write : Access::read, {},
                           Kind::pinned);
      std::memcpy(to, from, num_bytes);
    });
  });
  gpu().memory.lock(held, {on_host, on_host + num_bytes, to_host, number, operation, name});
  return call.end(cudaSuccess);
}
