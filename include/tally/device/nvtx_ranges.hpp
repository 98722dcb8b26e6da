// SPDX-License-Identifier: Apache-2.0
// Opens and closes named ranges of time on the calling thread's line of NVIDIA's profilers (NVTX).
// Without a profiler they cost next to nothing, in a build without CUDA they do nothing. Its bodies
// are twins: nvtx_ranges_cuda.cpp, nvtx_ranges_no_cuda.cpp.
#pragma once

namespace tally::device {

// Whether this process was started under a profiler that takes ranges.
bool are_ranges_seen();

// Ranges of a thread nest.
void begin_range(const char* name) noexcept;
void end_range() noexcept;

}  // namespace tally::device
