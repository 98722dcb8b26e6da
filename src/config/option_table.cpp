// SPDX-License-Identifier: Apache-2.0
#include "option_table.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <boost/program_options.hpp>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>

#include "option_sources.hpp"

namespace tally::config {

const Option* find(const OptionTable& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Option::name);
  return found == table.end() ? nullptr : &*found;
}

std::string suggestion(const OptionTable& table, std::string_view word, std::string_view prefix) {
  std::vector<std::string> names;
  for (const Option& option : table) names.emplace_back(option.name);
  return did_you_mean(word, names, "--help lists the options.", prefix);
}

namespace {

namespace po = boost::program_options;

// The width of the help, and of it the part for the texts beside the names of options.
constexpr unsigned kColumns = 90;
constexpr unsigned kTextColumns = 58;
// Stands for a blank at which a line must not be wrapped, until tidied() puts the blank in its
// place.
constexpr char kUnbroken = '\x1f';

std::string paragraph(const Option& option) {
  if (option.presence == Presence::required) return format("{}; required", option.help);
  const std::string value = option.binding.text();
  // default_words replace a value that would not say what happens without the option.
  const bool has_value = !value.empty() && option.default_words.empty();
  const std::string_view shown = has_value ? value : option.default_words;
  if (shown.empty()) return std::string(option.help);
  std::string remark = format("(default: {})", shown);
  // Only a short remark is held together; a long one may need more than a line.
  if (remark.size() < kTextColumns / 2) std::ranges::replace(remark, ' ', kUnbroken);
  return format("{} {}", option.help, remark);
}

// Removes the blanks that the wrapping leaves at the end of lines, and the empty line on top.
std::string tidied(std::istringstream wrapped) {
  std::string text;
  for (std::string line; std::getline(wrapped, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (!text.empty() || !line.empty()) text += line + "\n";
  }
  std::ranges::replace(text, kUnbroken, ' ');
  return text;
}

void add(po::options_description& group, const Option& option) {
  const std::string name(option.name);
  if (option.binding.arity == Arity::flag) {
    // A flag stands alone as a rule, so that the help shows no argument.
    group.add_options()(name.c_str(), paragraph(option).c_str());
    return;
  }
  auto* semantic = po::value<std::string>()->value_name(std::string(option.argument));
  group.add_options()(name.c_str(), semantic, paragraph(option).c_str());
}

// Reports what is wrong with one assignment, in the form that all such messages have. Error(usage).
[[noreturn]] void throw_usage_error(const Assignment& assignment, std::string_view expected) {
  throw Error(ErrorKind::usage, format("option --{} = '{}' ({}), expected {}", assignment.name,
                                       printable(assignment.value), assignment.where, expected));
}

}  // namespace

std::string options_help(const OptionTable& table) {
  po::options_description all(kColumns, kTextColumns);
  // Groups keep the order of their first options; the other options of a group may stand anywhere
  // in the table.
  std::vector<std::string_view> done;
  for (const Option& first : table) {
    if (std::ranges::find(done, first.group) != done.end()) continue;
    done.push_back(first.group);
    po::options_description group(std::string(first.group), kColumns, kTextColumns);
    for (const Option& option : table) {
      if (option.group == first.group) add(group, option);
    }
    all.add(group);
  }
  std::ostringstream text;
  text << all;
  return tidied(std::istringstream(text.str()));
}

namespace {

// `assignments` are those of one source. A second value there is taken for a mistake, while one of
// another source overrides.
void refuse_duplicates(const OptionTable& table, const Assignments& assignments) {
  std::map<std::string_view, const Assignment*> seen;
  for (const Assignment& assignment : assignments) {
    if (find(table, assignment.name)->binding.arity == Arity::several) continue;
    const auto [first, is_new] = seen.emplace(assignment.name, &assignment);
    if (is_new) continue;
    throw Error(ErrorKind::usage,
                format("option --{} is given twice: '{}' ({}) and '{}' ({})", assignment.name,
                       printable(first->second->value), first->second->where,
                       printable(assignment.value), assignment.where));
  }
}

void store(const OptionTable& table, const Assignments& assignments) {
  refuse_duplicates(table, assignments);
  for (const Assignment& assignment : assignments) {
    const auto expected = find(table, assignment.name)->binding.set(assignment.value);
    if (expected) throw_usage_error(assignment, *expected);
  }
}

void check_required(const OptionTable& table) {
  for (const Option& option : table) {
    // A required option has no default: an empty text means that no source gave a value.
    if (option.presence != Presence::required || !option.binding.text().empty()) continue;
    throw Error(
        ErrorKind::usage, format("option --{} is missing", option.name),
        format("Give --{} {}, or set {}, or write '{} = {}' into the --config file.", option.name,
               option.argument, variable_name(option.name), option.name, option.argument));
  }
}

// Its name may come from a variable or from the command line, which wins.
std::string path_of_config_file(const Assignments& variables, const Assignments& given) {
  std::string path;
  for (const auto* assignments : {&variables, &given}) {
    for (const Assignment& assignment : *assignments) {
      if (assignment.name == kConfigOption) path = assignment.value;
    }
  }
  return path;
}

}  // namespace

std::string config_file_path(const OptionTable& table, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment) {
  return path_of_config_file(from_environment(table, environment).assignments,
                             from_command_line(table, arguments));
}

std::vector<std::string> resolve(const OptionTable& table,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 const ConfigFile& already_read) {
  const Assignments given = from_command_line(table, arguments);
  FromEnvironment variables = from_environment(table, environment);
  // The file is needed first, although it is the weakest source.
  const std::string file = path_of_config_file(variables.assignments, given);
  // Each call writes over the fields that an earlier one has set.
  if (!file.empty()) {
    const bool is_read = file == already_read.path;
    store(table, from_file(table, is_read ? already_read : read_config_file(file)));
  }
  store(table, variables.assignments);
  store(table, given);
  check_required(table);
  return std::move(variables.unknown);
}

std::vector<std::pair<std::string, std::string>> settings_of(const OptionTable& table) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Option& option : table) {
    settings.emplace_back(option.name, option.binding.text());
  }
  return settings;
}

}  // namespace tally::config
