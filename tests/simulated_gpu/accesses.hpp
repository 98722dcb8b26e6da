// SPDX-License-Identifier: Apache-2.0
// Who touches which byte of the GPU's memory: finds operations that touch the same bytes without
// being in order, and threads of a kernel that do so without a barrier or atomics between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory.hpp"
#include "streams.hpp"

namespace simulated_gpu {

enum class Access { read, write, atomic };

struct Place {  // of a thread
  std::uint32_t block = 0;
  std::uint16_t thread = 0;
  std::uint16_t epoch = 0;
};

class Accesses {
 public:
  explicit Accesses(Memory& memory) : memory_(memory) {}

  // What touches memory from now on is `operation`, until the next call.
  void begin(const Operation& operation);

  // Ends the process with a line if these bytes are not of that kind, or somebody else may touch
  // them at the same time. `size` bytes of one thread.
  void touch(const void* address, std::size_t size, Access access, const Place& place,
             Kind kind = Kind::device);
  // The same of a variable of the program: a constant, or shared by the threads of a block, and
  // another one in each block.
  void touch_shared(const void* address, std::size_t size, Access access, const Place& place);

  void reset();

 private:
  void touch(Cell& cell, Access access, const Place& place);
  void check(const Touch& earlier, const Place& place);
  bool is_over(const Touch& earlier);
  [[noreturn]] void collision(const Touch& earlier) const;
  // Adds this thread to a touch of the operation that runs, or begins another one.
  void add(Touch& touch, const Place& place) const;

  Memory& memory_;
  std::vector<Operation> operations_;  // that have begun
  std::uint32_t ordered_ = 0;          // one of them that is over when the last one begins
  std::map<const std::byte*, Cell> shared_;
};

}  // namespace simulated_gpu
