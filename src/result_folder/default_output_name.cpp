// SPDX-License-Identifier: Apache-2.0
// Names the folder of a result that was given no name.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>
#include <tally/result_folder/output_folder.hpp>

namespace tally::app {

// A variable may hold anything, a way out of the working folder or terminal codes included.
std::string default_output_name() {
  const char* variable = std::getenv("SLURM_JOB_ID");
  const std::string_view job = variable ? variable : "";
  const bool is_plain = !job.empty() && job.front() != '.' && std::ranges::all_of(job, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
  });
  return format("tally-{}-{}", utc_now_compact(),
                is_plain ? std::string(job) : std::to_string(::getpid()));
}

}  // namespace tally::app
