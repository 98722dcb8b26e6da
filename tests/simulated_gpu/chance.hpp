// SPDX-License-Identifier: Apache-2.0
// What all parts of the simulated GPU need: its random numbers, and how it ends a test.
#pragma once

#include <cstdint>
#include <string>

namespace simulated_gpu {

// From now on the same numbers as after any other call with this seed.
void seed(std::uint64_t number);
// One of 0 … below - 1.
std::uint64_t draw(std::uint64_t below);

// Prints what is wrong and the seed that shows it again, and aborts the process.
[[noreturn]] void misuse(const std::string& what);
// The same from a signal handler: allocates nothing.
[[noreturn]] void misuse_in_handler(const char* what, const char* operation);

}  // namespace simulated_gpu
