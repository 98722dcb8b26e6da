#include "leaderboard_csv.hpp"

#include <string_view>

#include <tally/base/format.hpp>

namespace tally::watch {
namespace {

std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// In the fewest digits that give the same number when they are read again.
template <class Number>
std::string cell(std::optional<Number> number) {
  return number ? format("{}", *number) : std::string();
}

std::string line_of(const std::vector<std::string>& cells) {
  return format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string header_of(const std::vector<std::string>& metrics) {
  std::vector<std::string> cells = {"step", "name"};
  for (const std::string& metric : metrics) {
    for (const char* suffix : {"", "_low", "_high"}) cells.push_back(cell(metric + suffix));
  }
  cells.insert(cells.end(), {"samples", "seconds", "state_digest", "time"});
  return line_of(cells);
}

std::string row_of(const Entry& entry, const std::vector<std::string>& metrics) {
  std::vector<std::string> cells = {cell(entry.checkpoint.step), cell(entry.checkpoint.name)};
  for (const std::string& metric : metrics) {
    const Estimate* found = metric_of(entry, metric);
    const Estimate estimate = found ? *found : Estimate();
    for (const auto& number : {estimate.value, estimate.low, estimate.high}) {
      cells.push_back(cell(number));
    }
  }
  cells.insert(cells.end(), {format("{}", entry.samples), format("{}", entry.seconds),
                             cell(entry.state_digest), cell(entry.time)});
  return line_of(cells);
}

}  // namespace tally::watch
