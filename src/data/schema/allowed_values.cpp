// SPDX-License-Identifier: Apache-2.0
#include "schema/allowed_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

using hdf5::Element;

// Of the inputs that are filled up, if there are any.
std::optional<std::int64_t> places_of_row(const DataSetInfo& info) {
  const auto padded = std::ranges::find_if(
      info.columns.inputs, [](const ColumnInfo& input) { return input.padding.has_value(); });
  if (padded == info.columns.inputs.end()) return std::nullopt;
  return padded->row_shape.front();
}

}  // namespace

std::span<const Element> label_elements(LabelShape form) {
  static constexpr std::array kClass{Element::i64}, kFlag{Element::u8}, kValue{Element::f32};
  static constexpr std::array kPixel{Element::u8, Element::i16, Element::i32, Element::i64};
  static constexpr std::array kToken{Element::i32, Element::i64};
  switch (form) {
    case LabelShape::none:
      return {};
    case LabelShape::one:
      return kClass;
    case LabelShape::flags:
      return kFlag;
    case LabelShape::values:
      return kValue;
    case LabelShape::mask:
      return kPixel;
    case LabelShape::sequence:
      return kToken;
  }
  return {};
}

bool is_label_shape(const DataSetInfo& info, const Shape& shape) {
  const bool has_columns = shape.size() == 2 && shape[1] == info.num_classes;
  switch (rules_of(info).label) {
    case LabelShape::none:
      return false;
    case LabelShape::one:
      return shape.size() == 1;
    case LabelShape::flags:
      return has_columns;
    case LabelShape::values:
      return has_columns || (info.num_classes == 1 && (shape.size() == 1 || shape.size() == 3));
    case LabelShape::mask:
      return shape.size() == 3;
    case LabelShape::sequence:
      return shape.size() == 2 && places_of_row(info).value_or(shape[1]) == shape[1];
  }
  return false;
}

std::string expected_label_shape(const DataSetInfo& info) {
  switch (rules_of(info).label) {
    case LabelShape::none:
      return "none";
    case LabelShape::one:
      return format("[N] for {}", counted(info));
    case LabelShape::values:
      if (info.num_classes == 1) {
        return format("[N], [N, 1] or [N, height, width] for {}", counted(info));
      }
      [[fallthrough]];
    case LabelShape::flags:
      return format("[N, {}] for {}", info.num_classes, counted(info));
    case LabelShape::mask:
      return "[N, height, width]";
    case LabelShape::sequence: {
      const auto places = places_of_row(info);
      return places ? format("[N, {}]", *places) : "[N, L]";
    }
  }
  return {};
}

void set_range(DataSetInfo& info, std::string_view path, std::int64_t most) {
  for (auto* columns : {&info.columns.targets, &info.tables}) {
    for (ColumnInfo& column : *columns) {
      if (column.path == path) column.range = {0, most};
    }
  }
}

void set_ranges(DataSetInfo& info) {
  const TaskRules& rules = rules_of(info);
  if (has_units(rules)) set_range(info, "/targets/unit", info.num_units - 1);
  if (rules.set_ranges != nullptr) rules.set_ranges(info);
}

namespace {

// Values are stored as T and judged as Judged.
template <class T, class Judged = T>
void check_values(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::byte> rows) {
  for_each_value<T>(rows, [&](std::size_t i, T value) {
    if (allowed(info, static_cast<Judged>(value))) return;
    throw_dataset_error(info.path, place_of(column, first, i),
                        format("= {}, expected {} (read)", value, expected_labels(info)),
                        format("Check the labels with 'tally inspect {}'.", info.path.string()));
  });
}

}  // namespace

bool is_label(const ColumnInfo& column) { return column.path == "/targets/label"; }

bool allowed(const DataSetInfo& info, std::int64_t label) {
  return (label >= 0 && label < info.num_classes) || label == info.ignore_index;
}

bool allowed(const DataSetInfo& info, std::uint8_t flag) {
  return flag <= 1 || flag == info.ignore_index;
}

bool allowed(const DataSetInfo& info, float value) {
  return std::isfinite(value) || (std::isnan(value) && info.has_maps());
}

std::string expected_labels(const DataSetInfo& info) {
  const LabelShape form = rules_of(info).label;
  if (form == LabelShape::values)
    return info.has_maps() ? "finite numbers or NaN" : "finite numbers";
  const std::int64_t last = form == LabelShape::flags ? 1 : info.num_classes - 1;
  const std::string range = format("0..{}", last);
  return info.ignore_index ? format("{} or ignore_index {}", range, *info.ignore_index) : range;
}

std::string place_of(const ColumnInfo& column, std::int64_t first, std::size_t i) {
  auto at = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> place;
  for (std::size_t d = column.row_shape.size(); d-- > 0;) {
    place.push_back(at % column.row_shape[d]);
    at /= column.row_shape[d];
  }
  place.push_back(first + at);
  std::ranges::reverse(place);
  return format("{}[{}]", column.path, fmt::join(place, ", "));
}

void check_labels(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::byte> rows) {
  const LabelShape form = rules_of(info).label;
  if (form == LabelShape::values) return check_values<float>(info, column, first, rows);
  if (form == LabelShape::flags) return check_values<std::uint8_t>(info, column, first, rows);
  with_label_type(column.dtype, [&](auto value) {
    check_values<decltype(value), std::int64_t>(info, column, first, rows);
  });
}

void check_range(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                 std::span<const std::byte> rows) {
  const auto check = [&](std::size_t i, std::int64_t value) {
    if (contains(*column.range, value)) return;
    throw_dataset_error(info.path, place_of(column, first, i),
                        format("= {}, expected {} (read)", value, range_text(*column.range)));
  };
  with_label_type(column.dtype, [&](auto value) { for_each_value<decltype(value)>(rows, check); });
}

void check_signs(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                 std::span<const std::byte> rows) {
  for_each_value<double>(rows, [&](std::size_t i, double value) {
    const Sign sign = column.signs[i % column.signs.size()];
    const bool is_allowed = sign == Sign::any            ? true
                            : sign == Sign::not_negative ? value >= 0
                                                         : value > 0;
    if (std::isfinite(value) && is_allowed) return;
    const std::string_view expected = sign == Sign::any            ? "a finite number"
                                      : sign == Sign::not_negative ? "a finite number, 0 or more"
                                                                   : "a finite number above 0";
    throw_dataset_error(info.path, place_of(column, first, i),
                        format("= {}, expected {} (read)", value, expected));
  });
}

void check_rows(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                std::span<const std::byte> rows) {
  if (is_label(column)) check_labels(info, column, first, rows);
  if (column.range) check_range(info, column, first, rows);
  if (!column.signs.empty()) check_signs(info, column, first, rows);
}

}  // namespace tally::data
