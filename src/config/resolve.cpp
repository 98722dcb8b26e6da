#include "resolve.hpp"

#include <map>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "sources.hpp"

namespace tally::config {
namespace {

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
    if (option.presence != Presence::required || !option.binding.text().empty()) continue;
    throw Error(
        ErrorKind::usage, format("option --{} is missing", option.name),
        format("Give --{} {}, or set {}, or write '{} = {}' into the --config file.", option.name,
               option.argument, variable_name(option.name), option.name, option.argument));
  }
}

}  // namespace

void throw_usage_error(const Assignment& assignment, std::string_view expected) {
  throw Error(ErrorKind::usage, format("option --{} = '{}' ({}), expected {}", assignment.name,
                                       printable(assignment.value), assignment.where, expected));
}

std::vector<std::string> resolve(const OptionTable& table,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
  const Assignments given = from_command_line(table, arguments);
  FromEnvironment variables = from_environment(table, environment);
  Assignments over_file = variables.assignments;
  over_file.insert(over_file.end(), given.begin(), given.end());

  std::string file;
  for (const Assignment& assignment : over_file) {
    if (assignment.name == kConfigOption) file = assignment.value;
  }
  if (!file.empty()) store(table, from_file(table, file));
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
