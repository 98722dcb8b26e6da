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

// The character of a valid sequence.
inline char32_t code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0);
  char32_t value = byte(0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) value = value << 6 | (byte(i) & 0x3FU);
  return value;
}

// Control characters (C0, DEL, C1), and those that reorder the text around them (the embeddings,
// overrides and isolates of Unicode's bidirectional algorithm), so that a line reads otherwise than
// it is.
inline bool steers_terminal(char32_t character) {
  return character < 0x20 || (character >= 0x7F && character < 0xA0) ||
         (character >= 0x202A && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

// `text` with what escape(bytes, character) makes of each sequence that steers a terminal, and of
// each byte that is not UTF-8 (with U+FFFD as its character).
template <class Escape>
std::string with_escapes(std::string_view text, Escape&& escape) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view taken = text.substr(0, length == 0 ? 1 : length);
    const char32_t character = length == 0 ? 0xFFFD : code_point(taken);
    if (length != 0 && !steers_terminal(character)) {
      result += taken;
    } else {
      escape(result, taken, character);
    }
    text.remove_prefix(taken.size());
  }
  return result;
}

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace detail

// `text` with every control character, every one that reorders text, and every byte that is not
// UTF-8 written as \xNN, so that it stays on its line, reads as it is, and cannot steer a terminal.
inline std::string printable(std::string_view text) {
  return detail::with_escapes(text, [](std::string& result, std::string_view bytes, char32_t) {
    for (const char c : bytes) {
      const auto value = static_cast<unsigned char>(c);
      result += {'\\', 'x', detail::kHexDigits[value >> 4], detail::kHexDigits[value & 0xF]};
    }
  });
}

// The same for a text of several lines, whose line feeds stay.
inline std::string printable_lines(std::string_view text) {
  std::string result;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    result += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return result + printable(text);
}

// The same for JSON, where such characters are written as \uNNNN, which JSON reads as them. Line
// feeds, which are between its values only, stay.
inline std::string printable_json(std::string_view text) {
  return detail::with_escapes(text,
                              [](std::string& result, std::string_view bytes, char32_t character) {
                                if (bytes == "\n") {
                                  result += bytes;
                                  return;
                                }
                                result += "\\u";
                                for (int shift = 12; shift >= 0; shift -= 4) {
                                  result += detail::kHexDigits[(character >> shift) & 0xF];
                                }
                              });
}

}  // namespace tally
