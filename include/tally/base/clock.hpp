// SPDX-License-Identifier: Apache-2.0
// Measures durations by the monotonic clock, and gives time stamps in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tally {

class Stopwatch {
 public:
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Nanoseconds of this host's steady clock.
std::int64_t now_ns();

// Seconds since the kernel started this process: the launch, not the first line of main().
double process_age_s();

// "2026-11-21T03:25:26Z", and the same for file names: "20261121T032526Z".
std::string utc_now_iso();
std::string utc_now_compact();

}  // namespace tally
