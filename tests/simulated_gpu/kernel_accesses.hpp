// SPDX-License-Identifier: Apache-2.0
// Kernels as operations of a stream.
#pragma once

#include <cstddef>

#include "accesses.hpp"

namespace simulated_gpu {

// The thread of a kernel that runs touches memory: its stack, the arguments of the launch and the
// program's variables and constants are its own business, all other memory must be the GPU's.
void touched_by_thread(const void* address, std::size_t num_bytes, Access access);

}  // namespace simulated_gpu
