// Rows of any length: a group of a data set with `values` and `offsets`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/data/data_set.hpp>

namespace tally::data {

// Some rows that follow one another.
struct RaggedRows {
  std::vector<std::int64_t> offsets = {0};  // [rows + 1], in bytes of `values`
  std::vector<std::byte> values;

  std::int64_t num_rows() const { return std::ssize(offsets) - 1; }
  std::span<const std::byte> row(std::int64_t i) const {
    const std::int64_t begin = offsets.at(to_size(i)), end = offsets.at(to_size(i) + 1);
    return std::span(values).subspan(to_size(begin), to_size(end - begin));
  }
  std::string_view text(std::int64_t i) const {
    return {reinterpret_cast<const char*>(row(i).data()), row(i).size()};
  }
};

// Rows [first, first + count) of `path`, both of whose datasets are tables of the data set. Throws
// Error(dataset) where offsets do not ascend from 0 to the number of values, or a checksum differs.
RaggedRows read_ragged(DataSet& data_set, std::string_view path, std::int64_t first,
                       std::int64_t count);

}  // namespace tally::data
