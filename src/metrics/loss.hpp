// Mean cross entropy, an exact sum divided once.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry loss_family();

}  // namespace tally::metrics
