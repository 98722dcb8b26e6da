// SPDX-License-Identifier: Apache-2.0
// Which metrics two runs can be compared by, or why not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tally/metrics/metric_set.hpp>

#include "paired_samples.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {

// Why a metric cannot be compared: "needs the column …"; none if it can.
using Obstacle = std::function<std::optional<std::string>(const std::string& metric)>;

// The metrics that can be compared, as A's settings have them; those that cannot, and what is to be
// said of settings that differ, go into `pair`. `asked` as MetricOptions::names. Error(usage) names
// one that was asked for by its own name and cannot be compared, or that is not known; or there is
// none. Error(dataset) unless both runs are of the same classes.
metrics::MetricOptions choose_metrics(const std::string& task, const TwoRuns& runs,
                                      const std::vector<std::string>& asked,
                                      const Obstacle& obstacle_of, ReadPair& pair);

// Why curves cannot be made of so many scores, or of these files; none if they can.
std::optional<std::string> obstacle_of_curves(const TwoRuns& runs, std::int64_t num_scores);

// "needs the column 'logits', missing in A; --save labels,logits gives it"
std::string lack_of_column(const std::string& column, const std::string& who,
                           bool logits_do_too = false);

}  // namespace tally::compare
