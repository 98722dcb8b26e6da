// SPDX-License-Identifier: Apache-2.0
// A column of records, and how it is filled: from what a task's rows are made of, or value by
// value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/task.hpp>

namespace tally::tasks {

// Adding a row of a unit to the columns of records, value by value.
template <class T>
void append_value(std::vector<std::byte>& column, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  column.insert(column.end(), bytes.begin(), bytes.end());
}

// To a ragged column.
template <class T>
void append_values(std::span<const T> elements, std::size_t column,
                   predictions::RecordBatch& records) {
  const auto bytes = std::as_bytes(elements);
  auto& values = records.columns[column];
  values.insert(values.end(), bytes.begin(), bytes.end());
  records.lengths[column].push_back(std::ssize(elements));
}

inline void append_text(std::string_view text, std::size_t column,
                        predictions::RecordBatch& records) {
  append_values(std::span(text), column, records);
}

template <class Source>
struct Column {
  predictions::ColumnSpec spec;
  // Fills `out`, which has room for all rows of the source.
  void (*fill)(const Source& source, std::span<std::byte> out);
};

template <class T>
std::span<T> values_in(std::span<std::byte> out) {
  return {reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)};
}

template <class Source>
std::vector<predictions::ColumnSpec> specs_of(const std::vector<Column<Source>>& columns) {
  std::vector<predictions::ColumnSpec> specs;
  for (const auto& column : columns) specs.push_back(column.spec);
  return specs;
}

inline const std::vector<predictions::ColumnSpec>& specs_of(
    const std::vector<predictions::ColumnSpec>& specs) {
  return specs;
}

// Those of the groups asked for, each once, in order of name.
template <class ColumnsOf>
auto columns_of_groups(const std::vector<SaveColumns>& groups, const ColumnsOf& columns_of) {
  decltype(columns_of(SaveColumns::labels)) columns;
  for (const SaveColumns group : groups) {
    const auto more = columns_of(group);
    columns.insert(columns.end(), more.begin(), more.end());
  }
  const auto name = [](const auto& column) -> const auto& { return column.spec.name; };
  std::ranges::sort(columns, {}, name);
  // clang 14 cannot read std::ranges::unique() of GCC 12.
  const auto same = [&](const auto& a, const auto& b) { return name(a) == name(b); };
  columns.erase(std::unique(columns.begin(), columns.end(), same), columns.end());
  return columns;
}

template <class Source>
void record(const Source& source, std::int64_t num_rows, const std::vector<Column<Source>>& columns,
            predictions::RecordBatch& records) {
  records.num_rows = num_rows;
  records.columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    records.columns[c].resize(to_size(num_rows * columns[c].spec.row_bytes()));
    columns[c].fill(source, records.columns[c]);
  }
}

}  // namespace tally::tasks
