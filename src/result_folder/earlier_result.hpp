// What --overwrite replaces: files of a result, never others that only have their names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tally::app {

// The names of the files of the result in `folder`, without its events; with its trace, if that
// lies there and is not `new_trace`, which takes its place. Empty without one. Error(output) where
// a file has a name of a result's and is none of tally's, its events included.
std::vector<std::string> earlier_result(const std::filesystem::path& folder,
                                        const std::filesystem::path& new_trace);

}  // namespace tally::app
