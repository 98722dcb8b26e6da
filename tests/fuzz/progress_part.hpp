// SPDX-License-Identifier: Apache-2.0
// A part's two files of progress, as a run keeps them.
#pragma once

#include <string>

#include <tally/digest/sha256_and_checksums.hpp>
#include <tally/resume/progress_files.hpp>

#include "harness.hpp"
#include "part_files.hpp"

namespace tally::fuzz {

// content: of a state file, but the digest at its end, which is made here so that more than the
// digest is looked at. none: the part is not taken.
inline std::optional<resume::Progress> load(const std::string& content, std::string_view records) {
  write_input(resume::state_name({}, 0).c_str(), content + digest::sha256_hex(content));
  write_input(resume::records_name({}).c_str(), records);
  auto progress = resume::load_part(".", {});
  if (!progress) ++num_refused;
  return progress;
}

}  // namespace tally::fuzz
