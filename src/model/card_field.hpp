// SPDX-License-Identifier: Apache-2.0
// Reads one key of a model card, and names it with its path where its value is not what it must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tally::model {

struct CardField {
  const nlohmann::json& value;
  std::string path;        // "outputs[0].kind"
  std::string_view where;  // the file, as messages name it

  // Throws Error(model).
  [[noreturn]] void complain(std::string_view expected) const;

  bool has(const char* key) const { return value.contains(key) && !value.at(key).is_null(); }
  // Both throw where there is no such key, or the value is no object or list.
  CardField at(const char* key) const;
  std::size_t list_size() const;
  CardField at(std::size_t index) const;
};

// These throw Error(model) for other values.
std::string identifier(const CardField& field);
std::int64_t positive_integer(const CardField& field);
double finite_number(const CardField& field);
// Words that a reader may not know are refused, because nothing that depends on them would be
// right.
std::string one_of(const CardField& field, std::span<const std::string_view> words);

}  // namespace tally::model
