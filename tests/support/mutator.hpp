// SPDX-License-Identifier: Apache-2.0
// Damages bytes in the ways that disks, networks and people do, and some who mean harm. Fixed
// seeds.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace tally {

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string damage(std::string text) {
    const auto num_changes = 1 + random_() % 4;
    for (std::size_t i = 0; i < num_changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  void change(std::string& text) {
    const auto at = random_() % text.size();
    switch (random_() % 7) {
      case 0:
        text[at] = static_cast<char>(random_());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << (random_() % 8)));
        break;
      case 2:
        text.erase(at, 1 + random_() % 16);
        break;
      case 3:
        text.insert(at, text.substr(random_() % text.size(), random_() % 32));
        break;
      case 4:
        put_number(text, at);
        break;
      case 5:
        text.replace(at, random_() % 4, hostile_text());
        break;
      default:
        text.resize(at);
        break;
    }
  }

  // A field of 1, 2, 4 or 8 bytes becomes 0, the greatest number, a place in the bytes, or any.
  void put_number(std::string& text, std::size_t at) {
    const std::array<std::uint64_t, 4> values{0, ~std::uint64_t{0}, random_() % text.size(),
                                              std::uint64_t{random_()} << 32 | random_()};
    const auto value = values[random_() % values.size()];
    const auto size = std::size_t{1} << random_() % 4;
    if (at + size <= text.size()) std::memcpy(&text[at], &value, size);
  }

  // What texts may hold in the place of others.
  std::string_view hostile_text() {
    static constexpr std::array<std::string_view, 16> kTexts{"-1",
                                                             "0",
                                                             "1e999",
                                                             "99999999999999999999",
                                                             "9223372036854775807",
                                                             "-9223372036854775808",
                                                             "nan",
                                                             "null",
                                                             "[",
                                                             "[[[[[[[[[[[[[[[[[[",
                                                             "{\"a\":",
                                                             "\"",
                                                             "\n",
                                                             "\xff",
                                                             "\\u0000",
                                                             "\x1b[2J"};
    return kTexts[random_() % kTexts.size()];
  }

  std::mt19937 random_;
};

}  // namespace tally
