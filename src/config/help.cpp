#include <algorithm>
#include <sstream>

#include <boost/program_options.hpp>

#include <tally/base/format.hpp>

#include "option_table.hpp"

namespace tally::config {
namespace {

namespace po = boost::program_options;

constexpr unsigned kColumns = 90;
constexpr unsigned kTextColumns = 58;
// A blank where lines are not wrapped.
constexpr char kUnbroken = '\x1f';

std::string paragraph(const Option& option) {
  if (option.presence == Presence::required) return format("{}; required", option.help);
  const std::string value = option.binding.text();
  const bool has_value = !value.empty() && option.default_words.empty();
  const std::string_view shown = has_value ? value : option.default_words;
  if (shown.empty()) return std::string(option.help);
  std::string remark = format("(default: {})", shown);
  if (remark.size() < kTextColumns / 2) std::ranges::replace(remark, ' ', kUnbroken);
  return format("{} {}", option.help, remark);
}

// Without the wrapping's blanks at the end of lines and the empty line on top.
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
    group.add_options()(name.c_str(), paragraph(option).c_str());
    return;
  }
  auto* semantic = po::value<std::string>()->value_name(std::string(option.argument));
  group.add_options()(name.c_str(), semantic, paragraph(option).c_str());
}

}  // namespace

std::string options_help(const OptionTable& table) {
  po::options_description all(kColumns, kTextColumns);
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

}  // namespace tally::config
