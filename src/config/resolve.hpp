// One value for each option, out of all sources.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "option_table.hpp"

namespace tally::config {

// Fills the fields that `table` is bound to, which hold their defaults: config file, then
// environment, then command line, each over the one before. A wrong value is an error also where
// another source overrides it. Returns the unknown TALLY_ variables. Error(usage).
std::vector<std::string> resolve(const OptionTable& table,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment);

// All options as (name, text), in table order.
std::vector<std::pair<std::string, std::string>> settings_of(const OptionTable& table);

}  // namespace tally::config
