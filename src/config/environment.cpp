#include <algorithm>
#include <array>
#include <cctype>

#include "sources.hpp"

namespace tally::config {
namespace {

constexpr std::string_view kPrefix = "TALLY_";

// Variables that belong to scripts, tests, the launch check or the placement, not to an option.
constexpr std::array<std::string_view, 7> kElsewhere{"TALLY_ENV",
                                                     "TALLY_BIN",
                                                     "TALLY_PYTHON",
                                                     "TALLY_DATA_DIR",
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
      if (value.empty()) continue;
      result.assignments.push_back(
          {std::string(option->name), value, "environment variable " + name});
    } else if (std::ranges::find(kElsewhere, name) == kElsewhere.end()) {
      result.unknown.push_back(name);
    }
  }
  return result;
}

}  // namespace tally::config
