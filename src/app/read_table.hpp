// Whole numbers that a data set has of units.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/data/data_set.hpp>

namespace tally::app {

// Rows [first, first + count) of an int64 table. Throws Error(dataset).
inline std::vector<std::int64_t> read_table(data::DataSet& data_set, std::string_view path,
                                            std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values(to_size(count));
  data_set.read_rows(data_set.info().table(path), first, count,
                     std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace tally::app
