// SPDX-License-Identifier: Apache-2.0
// The families there are, in the order of the report.
#pragma once

#include <string_view>
#include <vector>

#include "family.hpp"

namespace tally::metrics {

// Error(usage) for a word that is no task.
std::vector<FamilyEntry> families_of(std::string_view task);

}  // namespace tally::metrics
