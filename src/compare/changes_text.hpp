// SPDX-License-Identifier: Apache-2.0
// Changed samples as text.
#pragma once

#include <string>
#include <vector>

#include <tally/compare/comparison.hpp>

namespace tally::compare {

// How many samples changed, then those that are listed.
std::vector<std::string> change_lines(const Comparison& comparison);

}  // namespace tally::compare
