#include "schema/labels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <tally/base/format.hpp>

#include "dataset_error.hpp"
#include "schema/label_shape.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
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
