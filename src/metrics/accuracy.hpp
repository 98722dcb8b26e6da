// Share of samples whose prediction is right.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry accuracy_family();

}  // namespace tally::metrics
