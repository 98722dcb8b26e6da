// SPDX-License-Identifier: Apache-2.0
// Which metrics a run computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "family.hpp"

namespace tally::metrics {

// Why a metric that needs scores is not computed of predicted classes alone.
inline constexpr std::string_view kNeedsScores =
    "needs scores, of which there are none: only predicted classes";

// Whether options without scores rule it out, whatever its family says.
bool lacks_scores(const MetricDescription& metric, const MetricOptions& options);

struct WantedMetrics {
  std::vector<std::string> names;
  std::vector<std::string> without_scores;  // left out, though they are wanted
};

// The full names of what options.names asks for, in the order of the registry. Error(usage) for an
// unknown metric, or one that has no meaning with these options.
WantedMetrics wanted_metrics(const MetricOptions& options,
                             const std::vector<FamilyEntry>& families);

}  // namespace tally::metrics
