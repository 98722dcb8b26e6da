#include <algorithm>
#include <sstream>

#include <boost/program_options.hpp>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "sources.hpp"

namespace tally::config {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kConfigFileForm =
    "Lines of a config file have the form 'batch-size = 32'.";

std::string text_of(const std::string& path) {
  const auto bytes = read_file(path, ErrorKind::usage, "config file");
  std::string text(bytes.size(), '\0');
  std::ranges::transform(bytes, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.find('\0') != std::string::npos) {
    throw Error(ErrorKind::usage, format("config file '{}' is not a text file", printable(path)),
                kConfigFileForm);
  }
  return text;
}

// The parser drops all behind any '#'; a path that holds one must not be cut without a word.
void check_comment(std::string_view line, std::string_view where) {
  const auto hash = line.find('#');
  if (hash == std::string_view::npos || line.find_first_not_of(" \t") == hash) return;
  throw Error(ErrorKind::usage, format("a '#' behind a value ({})", where),
              "Give comments lines of their own, and a value that holds '#' on the command line.");
}

// The options of one line: none or one. Line by line, so that messages can name the line.
std::vector<po::option> options_of(const std::string& line, std::string_view where) {
  check_comment(line, where);
  std::istringstream stream(line);
  const po::options_description none;
  try {
    // The parser would take "[words]" as the heading of a section and say nothing.
    const auto first = line.find_first_not_of(" \t");
    const bool heading = first != std::string::npos && line[first] == '[';
    if (!heading) return po::parse_config_file(stream, none, true).options;
  } catch (const po::error&) {  // reported below
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

Assignments from_file(const OptionTable& table, const std::string& path) {
  Assignments result;
  std::istringstream lines(text_of(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto where = format("'{}':{}", printable(path), number);
    for (const auto& token : options_of(line, where)) {
      const auto& value = token.value.at(0);
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
