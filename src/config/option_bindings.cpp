// SPDX-License-Identifier: Apache-2.0
#include "option_bindings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include <tally/base/nearest_word.hpp>

namespace tally::config {
namespace {

using Complaint = std::optional<std::string>;

constexpr const char* kNotEmpty = "a value that is not empty";

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
// bytes_text() takes the first unit that divides, so that the binary units come first and in
// descending order. The decimal ones are read, but never written.
constexpr std::array<Unit, 10> kUnits{{{"TiB", std::int64_t{1} << 40},
                                       {"GiB", std::int64_t{1} << 30},
                                       {"MiB", std::int64_t{1} << 20},
                                       {"KiB", std::int64_t{1} << 10},
                                       {"B", 1},
                                       {"TB", 1'000'000'000'000},
                                       {"GB", 1'000'000'000},
                                       {"MB", 1'000'000},
                                       {"kB", 1'000},
                                       {"KB", 1'000}}};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A text without a comma is one item, and so is an empty text: list() refuses an empty item.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    items.emplace_back(trimmed(text.substr(0, comma)));
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return items;
}

// The items are passed by value, for sorting must not change the order that the user gave.
bool all_different(std::vector<std::string> items) {
  std::ranges::sort(items);
  return std::ranges::adjacent_find(items) == items.end();
}

std::string joined(const Choices& choices) { return format("{}", fmt::join(choices, ", ")); }

// A comma-separated list, in which `complaint_about` may find something wrong. The field stays as
// it is unless all items are right, as Binding::set promises.
Binding list(std::vector<std::string>& field,
             std::function<Complaint(const std::vector<std::string>&)> complaint_about,
             std::string expected) {
  return {.set = [&field, complaint_about = std::move(complaint_about),
                  expected = std::move(expected)](std::string_view text) -> Complaint {
            auto items = split_list(text);
            const bool empty_item = std::ranges::find(items, std::string()) != items.end();
            if (empty_item || !all_different(items)) return expected;
            if (auto complaint = complaint_about(items)) return complaint;
            field = std::move(items);
            return std::nullopt;
          },
          .text = [&field] { return format("{}", fmt::join(field, ",")); }};
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const auto digits_end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::int64_t>(text.substr(0, digits_end));
  const std::string_view name = trimmed(text.substr(digits_end));
  if (!number) return std::nullopt;
  // A number without a unit is a number of bytes.
  if (digits_end == text.size()) return number;
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  if (unit == kUnits.end()) return std::nullopt;
  // The product would overflow, which a division finds without computing it.
  if (*number > std::numeric_limits<std::int64_t>::max() / unit->bytes) return std::nullopt;
  return *number * unit->bytes;
}

std::string bytes_text(std::int64_t bytes) {
  const auto unit = std::ranges::find_if(kUnits, [&](const Unit& u) {
    return bytes >= u.bytes && bytes % u.bytes == 0 && u.bytes > 1;
  });
  // A multiple of a decimal unit alone is written in bytes.
  const bool binary = unit != kUnits.end() && unit->name.ends_with("iB");
  return binary ? format("{}{}", bytes / unit->bytes, unit->name) : format("{}", bytes);
}

Binding words(std::string& field) {
  return {.set = [&field](std::string_view text) -> Complaint {
            // An empty field stands for an option that was not given, so that no value may be
            // empty.
            if (text.empty()) return kNotEmpty;
            field = text;
            return std::nullopt;
          },
          .text = [&field] { return field; }};
}

Binding sha256_digits(std::string& field) {
  return {.set = [&field](std::string_view text) -> Complaint {
            // The functions of <cctype> are undefined for a negative char, hence the unsigned ones.
            const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
            if (text.size() != 64 || !std::ranges::all_of(text, is_digit)) {
              return "64 hexadecimal digits, as sha256sum prints them";
            }
            field.resize(text.size());
            std::ranges::transform(text, field.begin(), [](unsigned char c) {
              return static_cast<char>(std::tolower(c));
            });
            return std::nullopt;
          },
          .text = [&field] { return field; }};
}

Binding one_of(std::string& field, Choices choices) {
  return {.set = [&field, choices = std::move(choices)](std::string_view text) -> Complaint {
            if (std::ranges::find(choices, text) == choices.end()) {
              return format("one of {}", joined(choices));
            }
            field = text;
            return std::nullopt;
          },
          .text = [&field] { return field; }};
}

Binding number(double& field, double low, double high) {
  return {.set = [&field, low, high](std::string_view text) -> Complaint {
            const auto value = parse_number<double>(text);
            // NaN fails every comparison, so that this form refuses it.
            if (!value || !(*value >= low && *value < high)) {
              return format("a number from {} to below {}", low, high);
            }
            field = *value;
            return std::nullopt;
          },
          .text = [&field] { return format("{}", field); }};
}

Binding flag(bool& field) {
  return {.set = [&field](std::string_view text) -> Complaint {
            static constexpr std::array<std::string_view, 4> kYes{"true", "yes", "on", "1"};
            static constexpr std::array<std::string_view, 4> kNo{"false", "no", "off", "0"};
            const bool yes = std::ranges::find(kYes, text) != kYes.end();
            if (!yes && std::ranges::find(kNo, text) == kNo.end()) return "true or false";
            field = yes;
            return std::nullopt;
          },
          .text = [&field] { return std::string(field ? "true" : "false"); },
          .arity = Arity::flag};
}

Binding byte_size(std::int64_t& field, std::int64_t low) {
  return {.set = [&field, low](std::string_view text) -> Complaint {
            const auto value = parse_bytes(text);
            if (!value || *value < low) {
              return format("a number of bytes of at least {}, as 65536, 64MiB or 1GiB", low);
            }
            field = *value;
            return std::nullopt;
          },
          .text = [&field] { return bytes_text(field); }};
}

Binding each_word(std::vector<std::string>& field) {
  return {.set = [&field](std::string_view text) -> Complaint {
            if (text.empty()) return kNotEmpty;
            // The option may stand several times, and each time adds a value.
            field.emplace_back(text);
            return std::nullopt;
          },
          .text = [&field] { return format("{}", fmt::join(field, " ")); },
          .arity = Arity::several};
}

Binding name_list(std::vector<std::string>& field) {
  return list(
      field, [](const auto&) { return std::nullopt; }, "names separated by commas, each once");
}

Binding choice_list(std::vector<std::string>& field, Choices choices, std::string_view alone) {
  const auto expected =
      format("a comma-separated list of {}, each once, or {} alone", joined(choices), alone);
  const auto complaint_about = [choices = std::move(choices), alone,
                                expected](const std::vector<std::string>& items) -> Complaint {
    // `alone` is not one of `choices`: beside another item it is unknown.
    if (items.size() == 1 && items[0] == alone) return std::nullopt;
    const auto unknown = std::ranges::find_if(items, [&](const std::string& item) {
      return std::ranges::find(choices, item) == choices.end();
    });
    if (unknown == items.end()) return std::nullopt;
    const auto nearest = nearest_word(*unknown, {choices.begin(), choices.end()});
    return nearest ? format("{}. Did you mean '{}'?", expected, *nearest) : expected;
  };
  return list(field, complaint_about, expected);
}

}  // namespace tally::config
