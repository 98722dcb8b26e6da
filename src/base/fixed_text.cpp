// SPDX-License-Identifier: Apache-2.0
#include <tally/base/fixed_text.hpp>

#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace tally {
namespace {

void append_padded(UtcTime& out, std::int64_t number) {
  if (number < 10) out << "0";
  out << number;
}

}  // namespace

UtcTime utc_text(std::time_t seconds) noexcept {
  using namespace std::chrono;
  const sys_seconds time{std::chrono::seconds{seconds}};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  UtcTime out;
  out << std::int64_t{static_cast<int>(date.year())} << "-";
  append_padded(out, static_cast<unsigned>(date.month()));
  out << "-";
  append_padded(out, static_cast<unsigned>(date.day()));
  out << "T";
  append_padded(out, clock.hours().count());
  out << ":";
  append_padded(out, clock.minutes().count());
  out << ":";
  append_padded(out, clock.seconds().count());
  out << "Z";
  return out;
}

bool write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace tally
