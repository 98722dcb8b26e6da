// Share of samples whose true class is among the k best scores.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry top_k_family();

}  // namespace tally::metrics
