// A column of records, and how it is filled from what a task's rows are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/predictions/columns.hpp>
#include <tally/tasks/task.hpp>

namespace tally::tasks {

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
