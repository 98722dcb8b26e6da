// SPDX-License-Identifier: Apache-2.0
// The threads of a kernel, as fibers on one core: blocks in random order, one after the other, and
// threads of a block in random turns. They give way where they wait for each other, at atomics, and
// by chance at any access.
#pragma once

#include <functional>
#include <string>

#include "accesses.hpp"

namespace simulated_gpu {

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;  // of a block
};

// `name` is for what it says of mistakes.
void run_kernel(const std::string& name, const Grid& grid, const std::function<void()>& kernel);

// The thread that runs; null outside of kernels.
const Place* running_thread();

// While it lives the running thread of a kernel does not count as such: what it does belongs to the
// simulation.
class OutsideOfKernel {
 public:
  OutsideOfKernel();
  ~OutsideOfKernel();
  OutsideOfKernel(const OutsideOfKernel&) = delete;
  OutsideOfKernel& operator=(const OutsideOfKernel&) = delete;

 private:
  bool& is_in_kernel_;
  bool before_;
};

bool is_on_its_stack(const void* address);
// Perhaps another thread goes on before this one.
void may_give_way();

}  // namespace simulated_gpu
