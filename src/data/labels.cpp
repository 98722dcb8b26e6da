#include "labels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <tally/base/format.hpp>

#include "refuse.hpp"
#include "task_rules.hpp"

namespace tally::data {
namespace {

// Values are stored as T and judged as Judged.
template <class T, class Judged = T>
void check_values(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::byte> rows) {
  for_each_value<T>(rows, [&](std::size_t i, T value) {
    if (allowed(info, static_cast<Judged>(value))) return;
    refuse(info.path, place_of(column, first, i),
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

bool allowed(const DataSetInfo& /*info*/, float value) { return std::isfinite(value); }

std::string expected_labels(const DataSetInfo& info) {
  const hdf5::Element label = rules_of(info).label.value();
  if (label == hdf5::Element::f32) return "finite numbers";
  const std::int64_t last = label == hdf5::Element::u8 ? 1 : info.num_classes - 1;
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
  const hdf5::Element label = rules_of(info).label.value();
  if (label == hdf5::Element::f32) return check_values<float>(info, column, first, rows);
  if (label == hdf5::Element::u8) return check_values<std::uint8_t>(info, column, first, rows);
  with_label_type(column.dtype, [&](auto value) {
    check_values<decltype(value), std::int64_t>(info, column, first, rows);
  });
}

void check_range(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                 std::span<const std::byte> rows) {
  const auto check = [&](std::size_t i, std::int64_t value) {
    if (contains(*column.range, value)) return;
    refuse(info.path, place_of(column, first, i),
           format("= {}, expected {} (read)", value, range_text(*column.range)));
  };
  if (column.dtype == DType::i64) return for_each_value<std::int64_t>(rows, check);
  for_each_value<std::int32_t>(rows, check);
}

}  // namespace tally::data
