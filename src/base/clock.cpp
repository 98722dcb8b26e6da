// SPDX-License-Identifier: Apache-2.0
#include <tally/base/clock.hpp>

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include <tally/base/format.hpp>

namespace tally {
namespace {

std::string utc_now(const char* pattern) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, pattern, &parts)};
}

}  // namespace

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

double process_age_s() {
  // Field 22 of /proc/self/stat is the start time in clock ticks since boot; the fields are counted
  // behind the program's name, which may hold blanks but ends at the last ')'.
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0.0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  std::timespec now{};
  // The kernel counts start times from boot, with the time in which the machine was suspended, as
  // this clock does.
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double since_boot =
      static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  return since_boot - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string utc_now_iso() { return utc_now("%Y-%m-%dT%H:%M:%SZ"); }
std::string utc_now_compact() { return utc_now("%Y%m%dT%H%M%SZ"); }

}  // namespace tally
