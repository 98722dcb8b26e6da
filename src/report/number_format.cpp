// SPDX-License-Identifier: Apache-2.0
#include "number_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <tally/base/format.hpp>

namespace tally::report {

std::string grouped(std::int64_t number) {
  std::string text = format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  // Commas are inserted from the right, so that places further left stay valid; the sign is no
  // digit.
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string clock_text(double seconds) {
  // Far more than any run takes (31 years): an estimate may be so large that its conversion to an
  // integer would be undefined.
  constexpr double kLongest = 1e9;
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kLongest)));
  const auto hours = whole / 3600;
  const auto minutes = whole / 60 % 60;
  if (hours == 0) return format("{}:{:02}", minutes, whole % 60);
  return format("{}:{:02}:{:02}", hours, minutes, whole % 60);
}

std::string seconds_text(double seconds) {
  return seconds < 60 ? format("{:.2f} s", seconds) : format("{:.0f} s", seconds);
}

std::string value_text(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "undefined";
  return std::abs(*value) < 1000 ? format("{:.6f}", *value) : format("{:.6g}", *value);
}

bool is_share(std::string_view metric) {
  constexpr std::string_view kOfEntities = "entity_";
  if (metric.starts_with(kOfEntities)) metric.remove_prefix(kOfEntities.size());
  constexpr std::array<std::string_view, 4> kFamilies{"accuracy", "precision", "recall", "f1"};
  return std::ranges::any_of(kFamilies, [&](std::string_view family) {
    // A suffix begins with an underscore ("recall_macro"). The name is longer than that of the
    // family there, so that the character behind it exists.
    return metric == family || (metric.starts_with(family) && metric[family.size()] == '_');
  });
}

std::string percent_text(double share) { return format("{:.2f} %", 100 * share); }

std::string rate_text(double per_s) {
  return per_s < 1000 ? format("{:.1f}/s", per_s) : grouped(std::llround(per_s)) + "/s";
}

std::string short_digest(std::string_view digest) { return std::string(digest.substr(0, 16)); }

}  // namespace tally::report
