// SPDX-License-Identifier: Apache-2.0
// Describes a predictions.h5 as lines for people: what it holds, and rows of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tally/predictions/saved_rows.hpp>

namespace tally::predictions {

// Lines: number of rows, attributes, columns with dtype and shape, a table of the first rows.
// Throws Error(dataset) for a file that cannot be read or holds no predictions.
std::vector<std::string> describe(const std::filesystem::path& path);

// Something about a row, printable.
struct Detail {
  std::string name;      // "loss"
  std::string value;     // "2.5"
  bool is_text = false;  // may be long: has a line of its own
};

// More about the unit of an index, from elsewhere.
using DetailsOf = std::function<std::vector<Detail>(std::int64_t index)>;

// A table, a line per row; where there are texts a paragraph per row. Classes go by number, and by
// name where there are `class_names`. Throws Error(dataset).
std::vector<std::string> show_rows(const SavedRows& saved, std::span<const std::int64_t> rows,
                                   const std::vector<std::string>& class_names,
                                   const DetailsOf& more);

}  // namespace tally::predictions
