// SPDX-License-Identifier: Apache-2.0
// Which metrics a run computes.
#pragma once

#include <string>
#include <vector>

#include "family.hpp"

namespace tally::metrics {

// The full names of what options.names asks for, in the order of the registry. Error(usage) for an
// unknown metric, or one that has no meaning with these options.
std::vector<std::string> wanted_metrics(const MetricOptions& options,
                                        const std::vector<FamilyEntry>& families);

}  // namespace tally::metrics
