// Confusion matrix: who is taken for whom.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry confusion_family();

}  // namespace tally::metrics
