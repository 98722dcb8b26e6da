// SPDX-License-Identifier: Apache-2.0
// Values of predictions.h5 as texts, and texts in columns, for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tally/hdf5/reader.hpp>

namespace tally::predictions {

inline constexpr std::int64_t kShownValues = 4;  // of one row

// One element: "3", "0.25".
std::string value_text(hdf5::Element element, const std::byte* at);

// "3", or for a row of several values "[0.1, 0.2, 0.3, 0.4, …]".
std::string row_text(const hdf5::DatasetInfo& info, const std::byte* row);

// A title and texts side by side, in columns as wide as their widest text; nothing for no texts.
void add_table(std::vector<std::string>& lines, std::string_view title,
               const std::vector<std::vector<std::string>>& columns);

}  // namespace tally::predictions
