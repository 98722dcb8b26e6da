// SPDX-License-Identifier: Apache-2.0
#include "option_sources.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <boost/program_options.hpp>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::config {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kOptionForm = "Options have the form --name VALUE or --name=VALUE.";

// To the parser every value is text. The bindings read the values, so that a wrong one has the same
// message from each source.
po::options_description description_of(const OptionTable& table) {
  po::options_description description;
  for (const Option& option : table) {
    auto* semantic = po::value<std::string>();
    if (option.binding.arity == Arity::flag) semantic->implicit_value("true");
    description.add_options()(std::string(option.name).c_str(), semantic);
  }
  return description;
}

[[noreturn]] void refuse_unknown(const OptionTable& table, std::string_view word) {
  throw Error(ErrorKind::usage, format("unknown option '{}' (command line)", printable(word)),
              suggestion(table, word));
}

[[noreturn]] void refuse_missing_value(const OptionTable& table, const std::string& name) {
  const Option* option = find(table, name);
  // For an unknown option the missing value is not what is wrong.
  if (option == nullptr) refuse_unknown(table, "--" + name);
  throw Error(
      ErrorKind::usage,
      format("option --{} (command line) has no value, expected {}", name, option->argument),
      kOptionForm);
}

[[noreturn]] void refuse_stray_word(const OptionTable& table, const std::string& word) {
  // There are no short options: a single dash is a slip in the name of an option.
  if (word.size() > 1 && word[0] == '-' && word[1] != '-') refuse_unknown(table, word);
  throw Error(
      ErrorKind::usage,
      format("unexpected word '{}' (command line), which belongs to no option", printable(word)),
      kOptionForm);
}

po::parsed_options tokens_of(const OptionTable& table, const std::vector<std::string>& arguments) {
  const auto description = description_of(table);
  using po::command_line_style::style_t;
  // The style lacks allow_guessing: an abbreviation could become ambiguous with a new option.
  constexpr int kStyle =
      style_t::allow_long | style_t::long_allow_adjacent | style_t::long_allow_next;
  try {
    auto tokens = po::command_line_parser(arguments)
                      .options(description)
                      .style(kStyle)
                      // from_command_line() refuses what is unknown, and suggests the nearest name.
                      .allow_unregistered()
                      .run();
    tokens.description = nullptr;  // it dies with this function
    return tokens;
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string token = error.tokens();
    // The token is the option as it was typed, perhaps with `=` behind the name.
    const auto first = std::min(token.find_first_not_of('-'), token.size());
    refuse_missing_value(table, token.substr(first, token.find('=', first) - first));
  } catch (const po::error& error) {
    throw Error(ErrorKind::usage, format("cannot read the command line ({})", error.what()),
                kOptionForm);
  }
}

std::string value_of(const OptionTable& table, const po::option& token) {
  const Option* option = find(table, token.string_key);
  // The parser leaves a flag that stands alone without a value until it stores it.
  const bool flag = option != nullptr && option->binding.arity == Arity::flag;
  if (flag && token.value.empty()) return "true";
  // It takes any next word as the value, also one that is an option itself.
  const bool took_next_word = token.original_tokens.size() > 1;
  if (token.value.empty() || (took_next_word && token.value[0].starts_with("--"))) {
    refuse_missing_value(table, token.string_key);
  }
  return token.value[0];
}

}  // namespace

std::vector<std::string> take_words(const OptionTable& table, std::vector<std::string>& arguments) {
  std::vector<std::string> words, options;
  bool is_value = false;
  for (std::string& argument : arguments) {
    const bool is_option = !is_value && argument.size() > 1 && argument[0] == '-';
    auto& taken = is_option || is_value ? options : words;
    // `--name=VALUE` is not found in the table, which is right: no value follows it as a word.
    const Option* option = is_option && argument.starts_with("--")
                               ? find(table, std::string_view(argument).substr(2))
                               : nullptr;
    is_value = option != nullptr && option->binding.arity != Arity::flag;
    taken.push_back(std::move(argument));
  }
  arguments = std::move(options);
  return words;
}

Assignments from_command_line(const OptionTable& table, const std::vector<std::string>& arguments) {
  Assignments result;
  for (const auto& token : tokens_of(table, arguments).options) {
    // The parser gives a position to a word that belongs to no option.
    const bool stray = token.string_key.empty() || token.position_key >= 0;
    if (stray) refuse_stray_word(table, token.original_tokens.front());
    if (token.unregistered) refuse_unknown(table, "--" + token.string_key);
    result.push_back({token.string_key, value_of(table, token), "command line"});
  }
  return result;
}

namespace {

constexpr std::string_view kPrefix = "TALLY_";

// These variables belong to scripts, tests, the launch check or the placement and not to an option,
// so that there is no warning of them.
constexpr std::array<std::string_view, 8> kElsewhere{"TALLY_ENV",
                                                     "TALLY_BIN",
                                                     "TALLY_PYTHON",
                                                     "TALLY_DATA_DIR",
                                                     "TALLY_REQUEUE",
                                                     "TALLY_TEST_RANKS",
                                                     "TALLY_ALLOW_SEPARATE_JOBS",
                                                     "TALLY_ALLOW_SHARED_GPU"};

}  // namespace

std::string variable_name(std::string_view option) {
  std::string name(kPrefix);
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

FromEnvironment from_environment(const OptionTable& table,
                                 const std::vector<std::string>& environment) {
  FromEnvironment result;
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (!name.starts_with(kPrefix) || equals == std::string::npos) continue;
    const auto option = std::ranges::find_if(
        table, [&](const Option& known) { return variable_name(known.name) == name; });
    const std::string value = entry.substr(equals + 1);
    if (option != table.end()) {
      // An empty value means not set, so that a script can pass on a variable that may be empty.
      if (value.empty()) continue;
      result.assignments.push_back(
          {std::string(option->name), value, "environment variable " + name});
    } else if (std::ranges::find(kElsewhere, name) == kElsewhere.end()) {
      // Not an error: the caller logs a warning (docs/contracts.md).
      result.unknown.push_back(name);
    }
  }
  return result;
}

namespace {

namespace po = boost::program_options;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kConfigFileForm =
    "Lines of a config file have the form 'batch-size = 32'.";

std::string text_of(const std::string& path) {
  constexpr std::int64_t kMostBytes = 1 << 20;  // a config file has tens of lines
  const auto bytes = read_file(path, ErrorKind::usage, "config file", kMostBytes);
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  // Some editors put the mark in front of UTF-8; it would become part of the first name.
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.find('\0') != std::string::npos) {
    throw Error(ErrorKind::usage, format("config file '{}' is not a text file", printable(path)),
                kConfigFileForm);
  }
  return text;
}

// The parser drops everything behind any '#'. A path that holds one must not be cut without a
// message.
void check_comment(std::string_view line, std::string_view where) {
  const auto hash = line.find('#');
  if (hash == std::string_view::npos || line.find_first_not_of(" \t") == hash) return;
  throw Error(ErrorKind::usage, format("a '#' behind a value ({})", where),
              "Give comments lines of their own, and a value that holds '#' on the command line.");
}

// Reads the option of one line, if there is one. The parser gets a single line at a time, so that
// messages can name its number.
std::vector<po::option> options_of(const std::string& line, std::string_view where) {
  check_comment(line, where);
  std::istringstream stream(line);
  const po::options_description none;
  try {
    // The parser would take "[words]" as the heading of a section and say nothing.
    const auto first = line.find_first_not_of(" \t");
    const bool heading = first != std::string::npos && line[first] == '[';
    if (!heading) return po::parse_config_file(stream, none, true).options;
  } catch (const po::error&) {  // the error below names the line
  }
  throw Error(ErrorKind::usage, format("'{}' ({}) is no 'name = value'", printable(line), where),
              kConfigFileForm);
}

void check_key(const OptionTable& table, const std::string& key, std::string_view where) {
  if (key == kConfigOption) {
    throw Error(ErrorKind::usage, format("a config file cannot name another one ({})", where));
  }
  if (find(table, key) != nullptr) return;
  throw Error(ErrorKind::usage, format("unknown option '{}' ({})", printable(key), where),
              suggestion(table, key, ""));
}

}  // namespace

ConfigFile read_config_file(const std::string& path) { return {path, text_of(path)}; }

Assignments from_file(const OptionTable& table, const ConfigFile& file) {
  Assignments result;
  std::istringstream lines(file.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto where = format("'{}':{}", printable(file.path), number);
    for (const auto& token : options_of(line, where)) {
      const auto& value = token.value.at(0);
      // The options that a report records may serve as a config file (docs/formats.md). Options
      // that were not given are in there with an empty value, --config among them.
      const bool empty_config = token.string_key == kConfigOption && value.empty();
      if (empty_config) continue;
      check_key(table, token.string_key, where);
      const bool default_is_empty = find(table, token.string_key)->binding.text().empty();
      if (value.empty() && default_is_empty) continue;
      result.push_back({token.string_key, value, where});
    }
  }
  return result;
}

}  // namespace tally::config
