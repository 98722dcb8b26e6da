// SPDX-License-Identifier: Apache-2.0
// Metrics that need all scores of a class in order. They count nothing here: the room
// `distributed_metrics` computes them after the loop; these entries make them known.
#pragma once

#include "family.hpp"

namespace tally::metrics {

FamilyEntry binary_curves_family();
// Averages over classes, or labels, one against the rest.
FamilyEntry class_curves_family();

}  // namespace tally::metrics
