// SPDX-License-Identifier: Apache-2.0
// A column of records.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace tally::tasks {

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& column) {
  std::vector<T> values(column.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), column.data(), column.size());
  return values;
}

}  // namespace tally::tasks
