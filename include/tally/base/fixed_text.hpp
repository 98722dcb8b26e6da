// SPDX-License-Identifier: Apache-2.0
// A text of bounded length for signal handlers: building and writing it takes no memory and calls
// only what is async-signal-safe.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace tally {

// Text that does not fit is cut, between characters of UTF-8.
template <std::size_t kMost>
class FixedText {
 public:
  FixedText& operator<<(std::string_view text) noexcept {
    std::size_t taken = std::min(text.size(), kMost - length_);
    const auto continues = [&](std::size_t at) {
      return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    while (taken > 0 && taken < text.size() && continues(taken)) --taken;
    for (const char c : text.substr(0, taken)) text_[length_++] = c;
    return *this;
  }
  FixedText& operator<<(std::int64_t number) noexcept {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view(digits.data(), end);
  }
  std::string_view view() const noexcept { return {text_.data(), length_}; }

 private:
  std::array<char, kMost> text_;
  std::size_t length_ = 0;
};

// The text as it stands between the quotes of a JSON string. Control characters, which no text of
// ours has, become blanks.
template <std::size_t kMost>
void append_json(FixedText<kMost>& out, std::string_view text) noexcept {
  for (const char& c : text) {
    if (c == '"' || c == '\\') out << "\\";
    out << (static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
  }
}

// "2026-11-28T08:31:05Z". gmtime() is not async-signal-safe.
using UtcTime = FixedText<32>;
UtcTime utc_text(std::time_t seconds) noexcept;

// All of it; what the descriptor does not take is lost. Whether it took all.
bool write_all(int descriptor, std::string_view text) noexcept;

}  // namespace tally
