// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "exit_process.hpp"

namespace tally::app {
namespace {

// NVIDIA's profilers come into a process by these variables. They write their files at its exit,
// which is a normal one then.
constexpr std::array kProfilers{"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"};

}  // namespace

// At a normal exit LibTorch frees memory, which takes a tenth of a second and serves nothing. Only
// the streams of stdio must be flushed.
void exit_process(int code) {
  std::fflush(nullptr);
  const bool is_profiled = std::ranges::any_of(
      kProfilers, [](const char* variable) { return std::getenv(variable) != nullptr; });
  if (is_profiled) std::exit(code);
  std::_Exit(code);
}

}  // namespace tally::app
