#include "inspect_options.hpp"

#include <functional>
#include <map>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>

namespace tally::app {
namespace {

constexpr std::string_view kSeeHelp = "See 'tally inspect --help'.";

std::int64_t parse_count(std::string_view option, const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  if (number && *number > 0) return *number;
  throw Error(ErrorKind::usage,
              format("{} is '{}', expected a number of 1 or more", option, printable(text)));
}

using Takers = std::map<std::string, std::function<void(const std::string&)>, std::less<>>;

Takers takers_of(InspectOptions& options) {
  SampleOptions& samples = options.samples;
  return {
      {"--add-checksums", [&](const std::string& file) { options.add_checksums = file; }},
      {"--class", [&](const std::string& name) { samples.label = name; }},
      {"--data", [&](const std::string& file) { samples.data = file; }},
      {"--group", [&](const std::string& group) { samples.groups.push_back(group); }},
      {"--predicted", [&](const std::string& name) { samples.predicted = name; }},
      {"--show", [&](const std::string& text) { samples.show = parse_count("--show", text); }},
      {"--worst", [&](const std::string& text) { samples.worst = parse_count("--worst", text); }}};
}

[[noreturn]] void refuse_word(const std::string& word, const Takers& takers) {
  std::vector<std::string> known{"--verify", "--wrong"};
  for (const auto& [option, taker] : takers) known.push_back(option);
  throw Error(ErrorKind::usage, format("tally inspect does not take '{}'", printable(word)),
              word.starts_with("--") ? did_you_mean(word, known, kSeeHelp) : std::string(kSeeHelp));
}

void check_together(const InspectOptions& options) {
  if (options.file.empty()) {
    throw Error(ErrorKind::usage, "tally inspect needs a file", kSeeHelp);
  }
  if (options.add_checksums && options.verify) {
    throw Error(ErrorKind::usage, "--verify and --add-checksums exclude each other",
                "The copy is verified in any case.");
  }
  if (options.samples.worst && options.samples.show) {
    throw Error(ErrorKind::usage, "--worst and --show exclude each other",
                "--worst N says how many.");
  }
  if (options.samples.any() && (options.add_checksums || options.verify)) {
    throw Error(ErrorKind::usage, format("{} is for data sets, not for the rows of predictions",
                                         options.verify ? "--verify" : "--add-checksums"));
  }
}

}  // namespace

InspectOptions parse_inspect_options(const std::vector<std::string>& arguments) {
  InspectOptions options;
  const Takers takers = takers_of(options);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const auto taker = takers.find(word.substr(0, equals));
    if (word == "--verify") {
      options.verify = true;
    } else if (word == "--wrong") {
      options.samples.wrong = true;
    } else if (taker != takers.end() && equals != std::string::npos) {
      taker->second(word.substr(equals + 1));
    } else if (taker != takers.end() && i + 1 < arguments.size()) {
      taker->second(arguments[++i]);
    } else if (taker != takers.end()) {
      throw Error(ErrorKind::usage, format("{} needs a value", word), kSeeHelp);
    } else if (word.starts_with("-") || !options.file.empty()) {
      refuse_word(word, takers);
    } else {
      options.file = word;
    }
  }
  check_together(options);
  return options;
}

}  // namespace tally::app
