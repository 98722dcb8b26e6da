// The families there are, in the order of the report.
#pragma once

#include <vector>

#include "family.hpp"

namespace tally::metrics {

std::vector<FamilyEntry> multiclass_families();

}  // namespace tally::metrics
