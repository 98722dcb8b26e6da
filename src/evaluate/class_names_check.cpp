// SPDX-License-Identifier: Apache-2.0
#include <tally/evaluate/class_names_check.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::evaluate {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kShown = 3;  // classes in a message
constexpr std::size_t kSynsetDigits = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool begins_with_synset(std::string_view name) {
  return name.size() > kSynsetDigits && name[0] == 'n' &&
         std::ranges::all_of(name.substr(1, kSynsetDigits), is_digit) &&
         (name.size() == kSynsetDigits + 1 || !is_digit(name[kSynsetDigits + 1]));
}

// Transformers calls a class LABEL_0 where nobody named it.
bool is_generated(std::string_view name) {
  constexpr std::string_view kLabel = "label_";
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto number = std::string_view(lower).substr(std::min(lower.size(), kLabel.size()));
  return lower.starts_with(kLabel) && !number.empty() && std::ranges::all_of(number, is_digit);
}

bool are_given(const Names& names) {
  return !names.empty() && !std::ranges::all_of(names, is_generated);
}

std::string folded(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

bool are_synsets(const Names& names) { return std::ranges::all_of(names, begins_with_synset); }

// What names are compared by: synsets only where both sides have them.
Names keys_of(const Names& names, bool by_synset) {
  Names keys;
  for (const auto& name : names) {
    keys.push_back(by_synset ? name.substr(0, kSynsetDigits + 1) : folded(name));
  }
  return keys;
}

// Where each key stands; -1 for one that stands at several places.
std::map<std::string, std::int64_t> places_of(const Names& keys) {
  std::map<std::string, std::int64_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(keys[i], checked_cast<std::int64_t>(i));
    if (!is_new) place->second = -1;
  }
  return places;
}

// Appends "…" and how many more there are.
std::string listed(Names parts) {
  const auto all = parts.size();
  if (all <= kShown) return format("{}", fmt::join(parts, ", "));
  parts.resize(kShown);
  return format("{} and {} more", fmt::join(parts, ", "), all - kShown);
}

struct Comparison {
  Names moved;      // "2 'cat' is 0 in the model"
  Names otherwise;  // "0 is 'cat' in the model, 'Cat' in the data set"
  bool same_keys = true;
};

Comparison compare_each(const Names& of_model, const Names& of_data) {
  const bool by_synset = are_synsets(of_model) && are_synsets(of_data);
  const Names model = keys_of(of_model, by_synset), data = keys_of(of_data, by_synset);
  const auto places = places_of(model);
  Comparison found;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (model[i] != data[i]) {
      found.same_keys = false;
      const auto place = places.find(data[i]);
      if (place != places.end() && place->second >= 0) {
        found.moved.push_back(
            format("{} '{}' is the model's {}", i, printable(of_data[i]), place->second));
      }
    }
    if (model[i] != data[i] || (!by_synset && of_model[i] != of_data[i])) {
      found.otherwise.push_back(format("{} is '{}' in the data set, '{}' in the model's card", i,
                                       printable(of_data[i]), printable(of_model[i])));
    }
  }
  return found;
}

Error no_names(std::string_view side, std::string_view remedy) {
  return {ErrorKind::model, format("--classes-by name: the {} has no names of classes", side),
          std::string(remedy)};
}

}  // namespace

ClassNamesCheck compare_class_names(const Names& of_model, const Names& of_data) {
  if (!are_given(of_model) || !are_given(of_data) || of_model.size() != of_data.size()) return {};
  const Comparison found = compare_each(of_model, of_data);
  if (found.otherwise.empty()) return {ClassNames::same, ""};
  if (found.same_keys) {
    return {ClassNames::respelled,
            format("classes are spelled otherwise: {}", listed(found.otherwise))};
  }
  // A class whose name the model has at another place may be a chance where most names differ, but
  // not where most of those that stand elsewhere are the model's.
  if (2 * found.moved.size() > found.otherwise.size()) {
    return {ClassNames::reordered,
            format("the classes of the data set have other numbers in the model: {}",
                   listed(found.moved))};
  }
  return {ClassNames::different,
          format("classes are called otherwise: {}", listed(found.otherwise))};
}

std::vector<std::int64_t> places_of_names(const Names& names, const Names& among) {
  const bool by_synset = are_synsets(names) && are_synsets(among);
  const auto places = places_of(keys_of(among, by_synset));
  std::vector<std::int64_t> found;
  for (const auto& key : keys_of(names, by_synset)) {
    const auto place = places.find(key);
    found.push_back(place == places.end() ? -1 : place->second);
  }
  return found;
}

std::vector<std::int64_t> classes_by_name(const Names& of_model, const Names& of_data) {
  if (!are_given(of_model)) {
    throw no_names("model's card", "Export the model with --class-names FILE.");
  }
  if (!are_given(of_data)) {
    throw no_names("data set", "Prepare it with --class-names FILE, or leave --classes-by out.");
  }
  auto numbers = places_of_names(of_data, of_model);
  const auto own_places = places_of_names(of_data, of_data);
  Names missing;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0 && own_places[i] >= 0) continue;
    missing.push_back(format("{} '{}'", i, printable(of_data[i])));
  }
  if (missing.empty()) return numbers;
  throw Error(ErrorKind::model,
              format("--classes-by name: classes of the data set that are not exactly one of the "
                     "model's: {}",
                     listed(missing)),
              "Give both the same names, or number the labels as the model does.");
}

}  // namespace tally::evaluate
