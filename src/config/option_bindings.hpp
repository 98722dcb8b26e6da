// SPDX-License-Identifier: Apache-2.0
// Bindings of options to fields: what a value may be, and how it is written.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/format.hpp>
#include <tally/base/parse_number.hpp>

#include "option_table.hpp"

namespace tally::config {

// "65536", "64KiB", "1 GiB", "2GB" in bytes; none if it is not of that form or above 2^63 - 1.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// The largest binary unit that divides: "64MiB".
std::string bytes_text(std::int64_t bytes);

template <std::integral T>
Binding whole_number(T& field, T low, T high) {
  return {.set = [&field, low, high](std::string_view text) -> std::optional<std::string> {
            const auto value = parse_number<T>(text);
            if (!value || *value < low || *value > high) {
              return format("a whole number from {} to {}", low, high);
            }
            field = *value;
            return std::nullopt;
          },
          .text = [&field] { return format("{}", field); }};
}

// What `binding` of the same field takes, and `word`, which stands for `value`.
template <std::integral T>
Binding or_word(std::string_view word, T value, T& field, Binding binding) {
  return {.set = [=, &field, set = std::move(binding.set)](
                     std::string_view text) -> std::optional<std::string> {
            if (text == word) {
              field = value;
              return std::nullopt;
            }
            const auto complaint = set(text);
            return complaint ? format("{} or '{}'", *complaint, word) : complaint;
          },
          .text =
              [=, &field, plain = std::move(binding.text)] {
                return field == value ? std::string(word) : plain();
              }};
}

// A decimal number from `low` up to, but not including, `high`.
Binding number(double& field, double low, double high);

using Choices = std::vector<std::string_view>;

Binding words(std::string& field);
// 64 hexadecimal digits, in lower case in the field.
Binding sha256_digits(std::string& field);
// An empty field means that nothing was chosen.
Binding one_of(std::string& field, Choices choices);
Binding flag(bool& field);
Binding byte_size(std::int64_t& field, std::int64_t low);
// Of an option that may stand several times, a value each.
Binding each_word(std::vector<std::string>& field);
// Comma-separated names, none of them twice.
Binding name_list(std::vector<std::string>& field);
// The same, of `choices` only; the choice `alone` excludes all others.
Binding choice_list(std::vector<std::string>& field, Choices choices, std::string_view alone);

}  // namespace tally::config
