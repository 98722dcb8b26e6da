// SPDX-License-Identifier: Apache-2.0
// The one table of options, of which help, parsing, validation and the record in the report are
// made, and one value for each option, out of all sources.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/config/config_file.hpp>

namespace tally::config {

enum class Presence { optional, required };
// flag: may stand alone, `--overwrite`. several: may be given several times, each time adding a
// value.
enum class Arity { value, flag, several };

// How the words of an option become a field, and back. Both refer to the field that was bound.
struct Binding {
  // Stores `text`, or returns what was expected ("a whole number from 1 to 8") and stores nothing.
  std::function<std::optional<std::string>(std::string_view text)> set;
  // The field as a user would write it; `set` takes it back, unless it is empty: not given.
  std::function<std::string()> text;
  Arity arity = Arity::value;
};

struct Option {
  std::string_view group;     // heading in the help
  std::string_view name;      // "batch-size"
  std::string_view argument;  // "N"
  std::string_view help;
  std::string_view default_words;  // what no value means, where the default is not a value
  Binding binding;
  Presence presence = Presence::optional;
};

using OptionTable = std::vector<Option>;

// The option whose value names a config file, in every table that takes one.
inline constexpr std::string_view kConfigOption = "config";

// Null if the table has no option of that name.
const Option* find(const OptionTable& table, std::string_view name);

// "Did you mean '--batch-size'?" for the known name nearest to `word`, with `prefix` before it;
// else how to list them all.
std::string suggestion(const OptionTable& table, std::string_view word,
                       std::string_view prefix = "--");

// The help: a heading for each group, one option per paragraph, at most 90 columns wide.
std::string options_help(const OptionTable& table);

// Fills the fields that `table` is bound to, which hold their defaults: config file, then
// environment, then command line, each over the one before. A wrong value is an error also where
// another source overrides it. A config file is read unless it is `already_read`. Returns the
// unknown TALLY_ variables. Error(usage).
std::vector<std::string> resolve(const OptionTable& table,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 const ConfigFile& already_read = {});

// The path of the config file that command line or environment name; empty where they name none.
// Error(usage).
std::string config_file_path(const OptionTable& table, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment);

// All options as (name, text), in table order.
std::vector<std::pair<std::string, std::string>> settings_of(const OptionTable& table);

}  // namespace tally::config
