// What the metric pass saw: the evidence that every sample came once. Always kept.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry coverage_family();

}  // namespace tally::metrics
