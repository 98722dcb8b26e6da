// SPDX-License-Identifier: Apache-2.0
// Shows an error file, which docs/formats.md describes.

#include <string_view>

#include <nlohmann/json.hpp>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/result_folder/error_file.hpp>

namespace tally::app {
namespace {

using Json = nlohmann::json;

// A run writes less than 14 KiB. What it writes of others' names is printable already, but the file
// may be anybody's.
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

std::string text_at(const Json& failure, const char* key) {
  const Json& value = failure.at(key);
  return value.is_null() ? std::string() : printable(value.get<std::string>());
}

std::vector<std::string> lines_of(const Json& failure) {
  const std::string signal = text_at(failure, "signal");
  std::vector<std::string> lines{
      format("failure of rank {} on {}, {}", failure.at("rank").get<int>(),
             text_at(failure, "host"), text_at(failure, "time")),
      format("exit code: {}{}", failure.at("code").get<int>(),
             signal.empty() ? "" : format(" ({})", signal))};
  for (const auto& [key, what] : {std::pair{"phase", "phase"},
                                  {"object", "object"},
                                  {"cause", "cause"},
                                  {"next_step", "next step"}}) {
    if (auto text = text_at(failure, key); !text.empty()) {
      lines.push_back(format("{}: {}", what, text));
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> describe_error_file(const std::filesystem::path& file) {
  try {
    const auto bytes = read_file(file, ErrorKind::usage, "error file", kMostBytes);
    return lines_of(Json::parse(bytes.begin(), bytes.end()));
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage,
                format("'{}' begins as the error file of a run but does not go on so",
                       printable(file.string())));
  }
}

}  // namespace tally::app
