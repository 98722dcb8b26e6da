// SPDX-License-Identifier: Apache-2.0
#include "shards/joined_info.hpp"

#include <algorithm>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "schema/columns.hpp"

namespace tally::data {
namespace {

std::string text(const std::optional<std::int64_t>& value) {
  return value ? format("{}", *value) : "none";
}

std::string image_text(const ImageAttributes& image) {
  return format("{} {}, scale {}, mean [{}], std [{}], {}, recipe_source '{}'", shown(image.layout),
                shown(image.channels), image.scale, fmt::join(image.mean, ", "),
                fmt::join(image.std, ", "), to_string(image.geometry), shown(image.recipe_source));
}

std::string paths_text(const DataSetInfo& info) {
  std::vector<std::string> paths;
  for (const ColumnInfo* column : all_columns(info)) paths.push_back(column->path);
  return format("{}", fmt::join(paths, ", "));
}

// "/inputs/image is float32 [3], expected uint8 [3]"
std::string column_difference(const ColumnInfo& first, const ColumnInfo& other) {
  if (other.dtype != first.dtype || other.row_shape != first.row_shape) {
    return format("{} has rows of {} {}, expected {} {}", other.path, name(other.dtype),
                  to_string(other.row_shape), name(first.dtype), to_string(first.row_shape));
  }
  if (other.padding != first.padding) {
    return format("{} has the padding {}, expected {}", other.path, text(other.padding),
                  text(first.padding));
  }
  if (other.image.has_value() != first.image.has_value()) {
    return format("{} is {}an image", other.path, other.image ? "" : "not ");
  }
  if (other.image && *other.image != *first.image) {
    return format("{} has {}, expected {}", other.path, image_text(*other.image),
                  image_text(*first.image));
  }
  return {};
}

std::string class_name_difference(const DataSetInfo& first, const DataSetInfo& other) {
  if (other.class_names.size() != first.class_names.size()) {
    return format("it has {} class names, expected {}", other.class_names.size(),
                  first.class_names.size());
  }
  const auto [a, b] = std::ranges::mismatch(first.class_names, other.class_names);
  if (a == first.class_names.end()) return {};
  return format("class {} is '{}', expected '{}'", a - first.class_names.begin(), shown(*b),
                shown(*a));
}

}  // namespace

TableJoin join_of(std::string_view path) {
  // The names of inputs and groups are anybody's.
  if (path.starts_with("/inputs/") || path.starts_with("/groups/")) return TableJoin::rows;
  if (path == "/classes/id") return TableJoin::shared;
  return path.ends_with("/offsets") ? TableJoin::offsets : TableJoin::rows;
}

std::string values_of(std::string_view offsets) {
  const std::string_view group = offsets.substr(0, offsets.rfind('/'));
  return format("{}/{}", group, group == "/objects" ? "box" : "values");
}

std::string difference(const DataSetInfo& first, const DataSetInfo& other) {
  if (other.task != first.task) return format("task {}, expected {}", other.task, first.task);
  if (other.num_classes != first.num_classes) {
    return format("num_classes {}, expected {}", other.num_classes, first.num_classes);
  }
  if (other.ignore_index != first.ignore_index) {
    return format("ignore_index {}, expected {}", text(other.ignore_index),
                  text(first.ignore_index));
  }
  if (auto names = class_name_difference(first, other); !names.empty()) return names;
  const auto expected = all_columns(first), found = all_columns(other);
  if (paths_text(first) != paths_text(other)) {
    return format("datasets {}, expected {}", paths_text(other), paths_text(first));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (auto text = column_difference(*expected[i], *found[i]); !text.empty()) return text;
  }
  return {};
}

}  // namespace tally::data
