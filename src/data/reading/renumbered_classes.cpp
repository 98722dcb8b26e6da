// SPDX-License-Identifier: Apache-2.0
#include "reading/renumbered_classes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/data/label_sets.hpp>

#include "dataset_error.hpp"
#include "schema/allowed_values.hpp"
#include "schema/task_rules.hpp"

namespace tally::data {
namespace {

[[noreturn]] void refuse(const DataSetInfo& info, std::string_view why) {
  throw_dataset_error(info.path, "", format("its classes cannot be renumbered: {}", why),
                      "Prepare the labels in the model's numbering.");
}

// Several labels of a sample are flags, one for each label: those of a row change places.
void permute_flags(std::span<std::byte> rows, const std::vector<std::int64_t>& numbers) {
  std::vector<std::byte> row(numbers.size());
  for (std::size_t begin = 0; begin < rows.size(); begin += row.size()) {
    const auto stored = rows.subspan(begin, row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[to_size(numbers[i])] = stored[i];
    std::ranges::copy(row, stored.begin());
  }
}

}  // namespace

RenumberedClasses::RenumberedClasses(const DataSetInfo& stored, std::int64_t num_classes,
                                     std::vector<std::int64_t> new_numbers)
    : as_stored(stored), numbers(std::move(new_numbers)) {
  const LabelShape label = rules_of(stored).label;
  if (label == LabelShape::flags) {
    if (num_classes == stored.num_classes) return;
    refuse(stored, format("it has {} labels, the model {}", stored.num_classes, num_classes));
  }
  if (has_label_sets(stored)) refuse(stored, "several may be right for a sample");
  const bool are_tags = label == LabelShape::sequence && !has_vocabulary(rules_of(stored));
  if (label != LabelShape::one && label != LabelShape::mask && !are_tags) {
    refuse(stored, format("that is not possible for the task {}", stored.task));
  }
  if (stored.ignore_index && std::ranges::find(numbers, *stored.ignore_index) != numbers.end()) {
    refuse(stored, format("its ignore_index {} is a class of the model", *stored.ignore_index));
  }
  with_label_type(stored.target("label").dtype, [&](auto value) {
    if (num_classes - 1 <= std::int64_t{std::numeric_limits<decltype(value)>::max()}) return;
    refuse(stored, format("{} has no room for {} classes", name(stored.target("label").dtype),
                          num_classes));
  });
}

void RenumberedClasses::apply(const ColumnInfo& column, std::span<std::byte> rows) const {
  if (rules_of(as_stored).label == LabelShape::flags) return permute_flags(rows, numbers);
  with_label_type(column.dtype, [&](auto value) {
    for_each_value<decltype(value)>(rows, [&](std::size_t i, auto label) {
      if (label == as_stored.ignore_index) return;
      const auto number = static_cast<decltype(value)>(numbers[to_size(std::int64_t{label})]);
      std::memcpy(rows.data() + i * sizeof(number), &number, sizeof(number));
    });
  });
}

}  // namespace tally::data
