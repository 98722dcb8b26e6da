// Adding a row of a unit to the columns of records, value by value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <tally/predictions/columns.hpp>

namespace tally::tasks {

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

}  // namespace tally::tasks
