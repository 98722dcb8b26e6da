// SPDX-License-Identifier: Apache-2.0
// The trial of AMX in its parts: the processor's word and its instructions, a child that they may
// kill, and what follows from it.
#pragma once

#include <string>
#include <vector>

namespace tally::model {

// What follows from whether AMX is announced and works: pure logic, apart from the trial.
struct AmxSupport {
  bool is_announced = false;
  bool works = false;
  // What the user allows the libraries at most; empty where nothing is said.
  std::string onednn_cap{};
  std::string mkl_cap{};
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
  bool operator==(const EnvironmentVariable&) const = default;
};

struct AmxDecision {
  bool is_left_out = false;
  std::vector<EnvironmentVariable> to_set;
};

// A cap of the user's that leaves AMX out already is kept; one that allows it is replaced.
AmxDecision decide_amx(const AmxSupport& support);

// Whether the processor says that it has AMX's tiles and their products of bf16 or int8, whatever
// the kernel or a hypervisor makes of it.
bool announces_amx();

// Asks the kernel for the tiles and multiplies with what is announced. False where the kernel
// refuses; a fault (SIGILL) where AMX is announced but cannot run. Changes what the whole process
// may do: for a child.
bool multiply_tiles();

// Tries in a process of its own what may kill it.

// Whether `attempt` returns true in a child of this process, which it may kill. True as well where
// no child can be started: then nothing is known against it. Where this process has
// other threads, `attempt` calls only what is safe after a fork: no allocation, no locks.
bool succeeds_in_child(bool (*attempt)());

}  // namespace tally::model
