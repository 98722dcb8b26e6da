// SPDX-License-Identifier: Apache-2.0
// Starts kernels by a call instead of <<<>>>, so that tests can compile a kernel for a GPU that
// they simulate. This header is for .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tally/device/stream.hpp>

namespace tally::device {

// Enqueues on `stream`, a cudaStream_t, a kernel of `blocks` blocks of `threads` threads each,
// without dynamic shared memory. Throws Error(environment) naming the kernel if the GPU does not
// take it.
template <class... Arguments>
void launch(std::string_view name, void (*kernel)(Arguments...), std::int64_t blocks, int threads,
            void* stream, std::type_identity_t<Arguments>... arguments) {
  void* addresses[] = {&arguments...};
  // What it returns is also what check_launch() finds. CUDA 12 does not deduce a function's type.
  static_cast<void>(cudaLaunchKernel<void(Arguments...)>(
      kernel, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), addresses,
      0, static_cast<cudaStream_t>(stream)));
  check_launch(name);
}

}  // namespace tally::device
