// What a predictions.h5 holds, for `tally inspect`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tally::predictions {

// Lines: number of rows, attributes, columns with dtype and shape, a table of the first rows.
// Throws Error(dataset) for a file that cannot be read or holds no predictions.
std::vector<std::string> describe(const std::filesystem::path& path);

}  // namespace tally::predictions
