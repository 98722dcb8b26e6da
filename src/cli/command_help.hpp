// SPDX-License-Identifier: Apache-2.0
// What --help and --version print, and what is said of a command that does not exist.
#pragma once

#include <string>
#include <string_view>

namespace tally::app {

std::string general_help();
std::string version_text();
// Error(usage) for an unknown command.
std::string command_help(std::string_view command);
[[noreturn]] void refuse_command(std::string_view command);

}  // namespace tally::app
