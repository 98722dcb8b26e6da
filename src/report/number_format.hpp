// SPDX-License-Identifier: Apache-2.0
// How numbers are written for people: grouped digits, durations, shares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tally::report {

// "1,234,567"
std::string grouped(std::int64_t number);
// "0:07", "12:34", "1:02:03"; whole seconds, rounded up, never negative.
std::string clock_text(double seconds);
// "1.30 s", "75 s"
std::string seconds_text(double seconds);
// Six decimals, or six digits where the value is large; "undefined".
std::string value_text(std::optional<double> value);
// True for metrics that are shares of a whole, which a percentage suits.
bool is_share(std::string_view metric);
// "97.66 %"
std::string percent_text(double share);
// "153.2/s", "48,210/s"
std::string rate_text(double per_s);
// The first 16 of a digest's digits, enough to compare by eye.
std::string short_digest(std::string_view digest);

}  // namespace tally::report
