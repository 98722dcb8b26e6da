// SPDX-License-Identifier: Apache-2.0
// Says which options each command has.
#pragma once

#include <string>
#include <string_view>

#include <tally/config/run_options.hpp>

#include "option_table.hpp"

namespace tally::config {

// The first heading of the help.
inline constexpr std::string_view kFiles = "Files";

// The options of all kinds of runs. The bindings refer to `run` and `config_file`, which must
// outlive the table.
OptionTable all_run_options(RunConfig& run, std::string& config_file);

// Those of one kind, with its own.
OptionTable options_of(RunConfig& run, std::string& config_file, RunKind kind);

}  // namespace tally::config
