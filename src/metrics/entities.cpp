// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/entities.hpp>

#include <algorithm>
#include <string_view>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

namespace tally::metrics {
namespace {

constexpr std::string_view kOutside = "O";
constexpr std::string_view kPlaces = "BIES";
// The type of a tag that names none.
constexpr std::string_view kNoType = "_";

// "O", or one of the places alone or with a hyphen behind it.
bool is_tag(std::string_view name) {
  if (name == kOutside) return true;
  return !name.empty() && kPlaces.find(name[0]) != std::string_view::npos &&
         (name.size() == 1 || name[1] == '-');
}

// Of a name that is a tag. Only the first hyphen parts it: "B-PER-x" is of the type "PER-x".
std::string_view type_in(std::string_view name) {
  return name.size() > 2 ? name.substr(2) : kNoType;
}

// Whether an entity ends before `tag`, if one goes on up to there, and another begins with it,
// unless it lies outside.
bool parts(const EntityTag& before, const EntityTag& tag) {
  const bool goes_on = before.place == 'B' || before.place == 'I';
  const bool continues = tag.place == 'I' || tag.place == 'E';
  return !goes_on || !continues || before.type != tag.type;
}

struct Entity {
  std::int32_t type = 0;
  std::size_t first = 0, last = 0;  // its tokens
  bool operator==(const Entity&) const = default;
};

std::vector<Entity> entities_in(const EntityTags& tags, std::span<const std::int32_t> classes) {
  std::vector<Entity> entities;
  EntityTag before;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const EntityTag tag = tags.of(classes[i]);
    if (tag.place != 'O') {
      if (parts(before, tag)) {
        entities.push_back({tag.type, i, i});
      } else {
        entities.back().last = i;
      }
    }
    before = tag;
  }
  return entities;
}

}  // namespace

EntityTags::EntityTags(std::span<const std::string> class_names) {
  if (const auto lack = lack_of_entities(class_names)) {
    throw Error(ErrorKind::internal, format("entities were asked of class names, but {}", *lack));
  }
  for (const std::string& name : class_names) {
    if (name != kOutside) types_.emplace_back(type_in(name));
  }
  std::ranges::sort(types_);
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  for (const std::string& name : class_names) {
    if (name == kOutside) {
      tags_.push_back({});
      continue;
    }
    const auto type = std::ranges::lower_bound(types_, type_in(name)) - types_.begin();
    tags_.push_back({name[0], checked_cast<std::int32_t>(type)});
  }
}

EntityTag EntityTags::of(std::int32_t label) const {
  return label < 0 ? EntityTag{} : tags_.at(to_size(label));
}

std::optional<std::string> lack_of_entities(std::span<const std::string> class_names) {
  if (class_names.empty()) return "the data set has no class names";
  const auto other = std::ranges::find_if_not(class_names, is_tag);
  if (other != class_names.end()) {
    return format("class {} is named '{}', which is no tag of an entity, such as 'B-PER' or 'O'",
                  other - class_names.begin(), printable(*other));
  }
  if (std::ranges::all_of(class_names, [](const auto& name) { return name == kOutside; })) {
    return "all classes are named 'O', which is outside of entities";
  }
  return std::nullopt;
}

void append_entities(const EntityTags& tags, std::span<const std::int32_t> labels,
                     std::span<const std::int32_t> predictions,
                     std::vector<EntityRecord>& entities) {
  const std::vector<Entity> labelled = entities_in(tags, labels);
  const std::vector<Entity> predicted = entities_in(tags, predictions);
  // Both are in order of their first tokens, which no two entities of one sequence share.
  auto next = predicted.begin();
  for (const Entity& entity : labelled) {
    for (; next != predicted.end() && next->first < entity.first; ++next) {
      entities.push_back({.type = next->type, .is_predicted = true});
    }
    const bool is_found = next != predicted.end() && *next == entity;
    if (is_found) ++next;
    entities.push_back({.type = entity.type, .is_labelled = true, .is_predicted = is_found});
  }
  for (; next != predicted.end(); ++next) {
    entities.push_back({.type = next->type, .is_predicted = true});
  }
}

}  // namespace tally::metrics
