// SPDX-License-Identifier: Apache-2.0
// Preloaded, it counts the calls of the CUDA runtime, also those of libraries, in which the host
// waits for the device, and writes their number to the file that TALLY_TEST_WAITS names: at each
// call, since the program ends without running destructors. Waits for events are not counted: the
// loop waits for the oldest batch in flight, while later ones go on.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

std::mutex writing;
long num_waits = 0;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void count_wait() {
  static const char* const path = std::getenv("TALLY_TEST_WAITS");
  static const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  char text[32];
  const std::lock_guard lock(writing);  // the largest number is written last
  const int length = std::snprintf(text, sizeof text, "%ld\n", ++num_waits);
  if (file >= 0) static_cast<void>(!pwrite(file, text, static_cast<std::size_t>(length), 0));
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceSynchronize() {
  count_wait();
  return next<decltype(cudaDeviceSynchronize)>("cudaDeviceSynchronize")();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  count_wait();
  return next<decltype(cudaStreamSynchronize)>("cudaStreamSynchronize")(stream);
}

// Copies that return when they are done.
cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  count_wait();
  return next<decltype(cudaMemcpy)>("cudaMemcpy")(to, from, count, kind);
}

// To or from memory that is not page-locked it waits as well.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind != cudaMemcpyDeviceToDevice) {
    cudaPointerAttributes attributes{};
    cudaPointerGetAttributes(&attributes, kind == cudaMemcpyHostToDevice ? from : to);
    if (attributes.type == cudaMemoryTypeUnregistered) count_wait();
  }
  return next<decltype(cudaMemcpyAsync)>("cudaMemcpyAsync")(to, from, count, kind, stream);
}

// They wait for all work of the device.
cudaError_t cudaFree(void* memory) {
  count_wait();
  return next<decltype(cudaFree)>("cudaFree")(memory);
}

cudaError_t cudaFreeHost(void* memory) {
  count_wait();
  return next<decltype(cudaFreeHost)>("cudaFreeHost")(memory);
}
}
