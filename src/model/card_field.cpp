// SPDX-License-Identifier: Apache-2.0
#include "card_field.hpp"

#include <algorithm>
#include <cmath>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::model {
namespace {

constexpr std::size_t kMaxShown = 60;

}  // namespace

void CardField::complain(std::string_view expected) const {
  auto found = value.dump(-1, ' ', true);
  if (found.size() > kMaxShown) found = format("{} …", found.substr(0, kMaxShown));
  throw Error(ErrorKind::model,
              format("{}: {} in its card is {}, expected {}", where, path, found, expected),
              "Export the model again, or correct the card (docs/model-card.md).");
}

CardField CardField::at(const char* key) const {
  if (!value.is_object()) complain("an object");
  const auto found = value.find(key);
  if (found != value.end()) return {*found, path.empty() ? key : path + "." + key, where};
  throw Error(ErrorKind::model,
              format("{}: its card has no key '{}'", where, path.empty() ? key : path + "." + key),
              "Export the model again, or correct the card (docs/model-card.md).");
}

CardField CardField::at(std::size_t index) const {
  return {value[index], format("{}[{}]", path, index), where};
}

std::size_t CardField::list_size() const {
  if (!value.is_array()) complain("a list");
  return value.size();
}

std::string identifier(const CardField& field) {
  if (!field.value.is_string() || field.value.get_ref<const std::string&>().empty()) {
    field.complain("text");
  }
  return field.value.get<std::string>();
}

std::int64_t positive_integer(const CardField& field) {
  if (!field.value.is_number_unsigned() || field.value.get<std::uint64_t>() == 0 ||
      field.value.get<std::uint64_t>() > std::uint64_t{1} << 40) {
    field.complain("a positive integer");
  }
  return field.value.get<std::int64_t>();
}

double finite_number(const CardField& field) {
  if (!field.value.is_number() || !std::isfinite(field.value.get<double>())) {
    field.complain("a number");
  }
  return field.value.get<double>();
}

std::string one_of(const CardField& field, std::span<const std::string_view> words) {
  auto found = field.value.is_string() ? field.value.get<std::string>() : std::string{};
  if (std::find(words.begin(), words.end(), found) == words.end()) {
    field.complain(format("one of {}", fmt::join(words, ", ")));
  }
  return found;
}

}  // namespace tally::model
