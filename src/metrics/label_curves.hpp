// Metrics that need all scores of a label in order; see curves.hpp.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry binary_curves_family();

}  // namespace tally::metrics
