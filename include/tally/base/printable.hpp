// SPDX-License-Identifier: Apache-2.0
// Makes text from outside (paths, class names, option values) safe for a line on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tally {

namespace detail {

// Length of the valid UTF-8 sequence at the start of `text` (RFC 3629); 0 if there is none.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace detail

// `text` with every control byte (C0, DEL, the C1 characters) and every byte that is not UTF-8
// written as \xNN, so that it stays on its line and cannot steer a terminal.
inline std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = detail::utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    const std::size_t taken = length == 0 ? 1 : length;
    if (length != 0 && first >= 0x20 && first != 0x7F && !c1) {
      result += text.substr(0, taken);
    } else {
      for (const char c : text.substr(0, taken)) {
        const auto value = static_cast<unsigned char>(c);
        result += {'\\', 'x', kDigits[value >> 4], kDigits[value & 0xF]};
      }
    }
    text.remove_prefix(taken);
  }
  return result;
}

}  // namespace tally
