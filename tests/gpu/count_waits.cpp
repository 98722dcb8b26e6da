// Preloaded, it counts every call of the CUDA runtime in which the host waits for the device, by
// whomever it is made, and writes the counts to the file that TALLY_TEST_WAITS names. Waits for
// events are not counted: the loop waits for the oldest batch in flight, while later ones go on.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> num_waits{0};

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct AtExit {
  ~AtExit() {
    const char* const path = std::getenv("TALLY_TEST_WAITS");
    // A run on a GPU waits when it starts; other processes, such as the launcher's, have nothing to
    // say.
    if (path == nullptr || num_waits == 0) return;
    if (std::FILE* const file = std::fopen(path, "w")) {
      std::fprintf(file, "%ld\n", num_waits.load());
      std::fclose(file);
    }
  }
} at_exit;

}  // namespace

extern "C" {

cudaError_t cudaDeviceSynchronize() {
  ++num_waits;
  return next<decltype(cudaDeviceSynchronize)>("cudaDeviceSynchronize")();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++num_waits;
  return next<decltype(cudaStreamSynchronize)>("cudaStreamSynchronize")(stream);
}

// Copies that return when they are done.
cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  ++num_waits;
  return next<decltype(cudaMemcpy)>("cudaMemcpy")(to, from, count, kind);
}

// To or from memory that is not page-locked it waits as well.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind != cudaMemcpyDeviceToDevice) {
    cudaPointerAttributes attributes{};
    cudaPointerGetAttributes(&attributes, kind == cudaMemcpyHostToDevice ? from : to);
    if (attributes.type == cudaMemoryTypeUnregistered) ++num_waits;
  }
  return next<decltype(cudaMemcpyAsync)>("cudaMemcpyAsync")(to, from, count, kind, stream);
}

// They wait for all work of the device.
cudaError_t cudaFree(void* memory) {
  ++num_waits;
  return next<decltype(cudaFree)>("cudaFree")(memory);
}

cudaError_t cudaFreeHost(void* memory) {
  ++num_waits;
  return next<decltype(cudaFreeHost)>("cudaFreeHost")(memory);
}
}
