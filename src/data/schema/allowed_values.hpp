// SPDX-License-Identifier: Apache-2.0
// What may stand under /targets/label and in tables: types, shapes, values and their ranges.
// Classes are integers, the flags of labels uint8, values to be predicted float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <tally/data/data_set.hpp>
#include <tally/hdf5/element.hpp>

#include "schema/task_rules.hpp"

namespace tally::data {

// Types and shapes that /targets/label may have.
std::span<const hdf5::Element> label_elements(LabelShape form);

// `shape` is that of the whole dataset; inputs are read already.
bool is_label_shape(const DataSetInfo& info, const Shape& shape);
// "[N] or [N, 1] for 1 output".
std::string expected_label_shape(const DataSetInfo& info);

// Which integers tell a place, and how far they go.

// Sets the range of a target or table: from 0 to `most`.
void set_range(DataSetInfo& info, std::string_view path, std::int64_t most);
// Sets ColumnInfo::range and is_in_sequence of targets and tables; all columns are read already.
void set_ranges(DataSetInfo& info);

bool is_label(const ColumnInfo& column);

// 0 <= label < num_classes, or ignore_index.
bool allowed(const DataSetInfo& info, std::int64_t label);
// 0, 1 or ignore_index.
bool allowed(const DataSetInfo& info, std::uint8_t flag);
// Finite; in a map also NaN.
bool allowed(const DataSetInfo& info, float value);
// "0..999 or ignore_index -1", "0..1", "finite numbers".
std::string expected_labels(const DataSetInfo& info);

// Calls use(i, value) for the i-th value in `bytes`, which need not be aligned.
template <class T, class Use>
void for_each_value(std::span<const std::byte> bytes, const Use& use) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    use(i, value);
  }
}

// "/targets/label[817]", with the place in the row where rows have several values: "[817, 3]". Of
// the i-th value of rows [first, …).
std::string place_of(const ColumnInfo& column, std::int64_t first, std::size_t i);

// Refuses the first value of rows [first, …) that is not allowed.
void check_labels(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                  std::span<const std::byte> rows);

// Of a column with a range: throws Error(dataset) naming the first value that is not in it.
void check_range(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                 std::span<const std::byte> rows);
// Of a column with signs: the same.
void check_signs(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                 std::span<const std::byte> rows);
// All that there is to be checked of a column.
void check_rows(const DataSetInfo& info, const ColumnInfo& column, std::int64_t first,
                std::span<const std::byte> rows);

// Calls use(T{}) for the integer type that labels and places are stored as.
template <class Use>
void with_label_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::u8:
      return use(std::uint8_t{});
    case DType::i16:
      return use(std::int16_t{});
    case DType::i32:
      return use(std::int32_t{});
    default:
      return use(std::int64_t{});
  }
}

}  // namespace tally::data
