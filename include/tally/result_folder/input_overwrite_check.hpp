// SPDX-License-Identifier: Apache-2.0
// Lists what a run reads, by the option that names it, and checks that its result replaces none of
// it.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include <tally/config/run_options.hpp>

namespace tally::app {

struct Input {
  std::string_view option;
  std::filesystem::path file;
};

// Files, and what --predictions names, which may be a folder; of a folder of weights those that are
// read. Some may not be there.
std::vector<Input> inputs_of(const config::RunConfig& config);

// Error(usage) where `file` is one of them, by whatever name or link.
void require_no_input(const std::filesystem::path& file, const std::vector<Input>& inputs);

}  // namespace tally::app
