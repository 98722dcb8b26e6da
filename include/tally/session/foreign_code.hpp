// SPDX-License-Identifier: Apache-2.0
// What in the environment of a process brings code of others into it, or has its libraries read
// files that nobody named to Tally: program, model and data alone do not explain such a run
// (docs/SECURITY.md).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tally::app {

// (name, value) of each such variable that is set and not empty. The values are names of libraries
// and files.
std::vector<std::pair<std::string, std::string>> foreign_code();

// The same of what only NCCL heeds. Its file of settings in the home folder counts as one, too.
std::vector<std::pair<std::string, std::string>> foreign_code_of_nccl();

// A note that names all of them; none where there is nothing to name.
std::optional<std::string> foreign_code_note(bool has_nccl);

}  // namespace tally::app
