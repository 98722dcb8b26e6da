// SPDX-License-Identifier: Apache-2.0
// Where the values of options come from: command line, environment, config file.
#pragma once

#include <string>
#include <vector>

#include "option_table.hpp"

namespace tally::config {

// A value that was given for an option of the table.
struct Assignment {
  std::string name;   // "batch-size"
  std::string value;  // "32"
  std::string where;  // "command line", "environment variable TALLY_BATCH_SIZE", "'run.ini':3"
};
using Assignments = std::vector<Assignment>;

// Takes the words that are neither an option nor an option's value out of `arguments`, in order,
// for a command that has such; behind a flag stands no value, but what `=` joins to it.
std::vector<std::string> take_words(const OptionTable& table, std::vector<std::string>& arguments);

// `--name VALUE` or `--name=VALUE`; no abbreviations. Error(usage) for an unknown option (with the
// nearest known one), a missing value or a word that belongs to no option.
Assignments from_command_line(const OptionTable& table, const std::vector<std::string>& arguments);

// "batch-size" is TALLY_BATCH_SIZE.
std::string variable_name(std::string_view option);

struct FromEnvironment {
  Assignments assignments;
  std::vector<std::string> unknown;  // names that begin with TALLY_ and mean nothing
};
// `environment` holds "NAME=value"; a variable with an empty value is not set.
FromEnvironment from_environment(const OptionTable& table,
                                 const std::vector<std::string>& environment);

// Lines `name = value`; a line that begins with `#`, blanks before it aside, is a comment, and a
// `#` further on is refused. An empty value leaves an option whose default is empty at that.
// Error(usage) with the file and its line.
Assignments from_file(const OptionTable& table, const ConfigFile& file);

// Error(usage) where it cannot be read or is no text.
ConfigFile read_config_file(const std::string& path);

}  // namespace tally::config
