// SPDX-License-Identifier: Apache-2.0
// Paths in a file, followed over hard links only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "library.hpp"

namespace tally::hdf5 {

// Whether `path` leads to an object; fails on a link on the way that is not a hard link.
bool has_object(hid_t file, const Subject& subject, std::string_view path);
// The object at `path`; fails if there is none.
Object open_object(hid_t file, const Subject& subject, std::string_view path);
// The object at one of all_paths(), whose links need no second look.
Object open_checked(hid_t file, const Subject& subject, std::string_view path);
// Names of the links in a group, ascending.
std::vector<std::string> link_names(hid_t file, const Subject& subject, std::string_view group);
// Absolute paths of all links, ascending, the groups behind them entered once; fails on the first
// that is not a hard link, and where groups are nested deeper than any data set needs.
std::vector<std::string> all_paths(hid_t file, const Subject& subject);
// The same, as far as their depth and number are allowed, without the links that are not hard.
std::vector<std::string> hard_links(hid_t file, const Subject& subject);

}  // namespace tally::hdf5
