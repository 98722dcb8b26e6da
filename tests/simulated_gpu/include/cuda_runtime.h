// SPDX-License-Identifier: Apache-2.0
// What kernels need of CUDA's language, as C++ that runs on a CPU: the threads of a block are
// fibers (fibers.hpp), compiled with -fsanitize=thread, whose calls at each access are ours
// (sanitizer_calls.cpp).
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <cuda_runtime_api.h>

#define __global__
#define __device__
#define __host__
#define __shared__ static  // blocks run one after the other

struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};

// Of the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace simulated_gpu {

struct Launch {
  dim3 grid, block;
  std::function<void()> kernel;  // what one thread does
  const std::type_info* type;    // of its arguments, which name it in messages
  const void* arguments;         // which it may read
  std::size_t num_bytes;
};
cudaError_t launch(Launch launch, cudaStream_t stream);

void enter_kernel();  // by each thread
void leave_kernel();
void sync_threads();
bool all_of_lanes(unsigned mask, bool predicate);
// The bytes that lane `source` of the mask's lanes has at `value`, in the place of one's own.
void shuffle(unsigned mask, void* value, std::size_t num_bytes, int source, int width);
using Update = std::function<unsigned long long(unsigned long long)>;
unsigned long long atomic_update(unsigned long long* place, const Update& next);

}  // namespace simulated_gpu

inline void __syncthreads() { simulated_gpu::sync_threads(); }

inline int __all_sync(unsigned mask, int predicate) {
  return simulated_gpu::all_of_lanes(mask, predicate != 0) ? 1 : 0;
}

template <class Value>
Value __shfl_sync(unsigned mask, Value value, int source, int width = warpSize) {
  static_assert(std::is_arithmetic_v<Value>);
  simulated_gpu::shuffle(mask, &value, sizeof value, source, width);
  return value;
}

inline unsigned long long atomicAdd(unsigned long long* place, unsigned long long value) {
  return simulated_gpu::atomic_update(place, [value](auto old) { return old + value; });
}

inline unsigned long long atomicMax(unsigned long long* place, unsigned long long value) {
  return simulated_gpu::atomic_update(place,
                                      [value](auto old) { return old < value ? value : old; });
}

namespace simulated_gpu {
template <class... Arguments>
cudaError_t launch_of(void (*kernel)(Arguments...), dim3 grid, dim3 block, void** arguments,
                      cudaStream_t stream) {
  const auto copied = [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    return std::make_shared<std::tuple<Arguments...>>(*static_cast<Arguments*>(arguments[kAt])...);
  }
  (std::index_sequence_for<Arguments...>());
  const auto thread = [kernel, copied] {
    const auto function = kernel;
    const auto* const values = copied.get();
    simulated_gpu::enter_kernel();  // what came before was read by the host
    std::apply(function, *values);
    simulated_gpu::leave_kernel();
  };
  return simulated_gpu::launch(
      {grid, block, thread, &typeid(*copied), copied.get(), sizeof *copied}, stream);
}
}  // namespace simulated_gpu

template <class Function>
cudaError_t cudaLaunchKernel(Function* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t /*shared_bytes*/, cudaStream_t stream) {
  return simulated_gpu::launch_of(kernel, grid, block, arguments, stream);
}
