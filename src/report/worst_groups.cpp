// SPDX-License-Identifier: Apache-2.0
#include "worst_groups.hpp"

#include <algorithm>

#include <tally/metrics/metric_set.hpp>

namespace tally::report {

std::vector<WorstGroup> worst_groups(std::string_view task, const GroupMetrics& values) {
  std::vector<WorstGroup> worst;
  for (const auto& [group, results] : values.values) {
    for (const auto& metric : results.metrics) {
      if (!metric.value) continue;
      // A group has to be worse, not equal, so that the first of equal groups stays.
      const auto so_far = std::ranges::find(worst, metric.name, &WorstGroup::metric);
      if (so_far == worst.end()) {
        const auto known = metrics::description_of(task, metric.name);
        worst.push_back({metric.name, group, *metric.value, known && known->less_is_better});
      } else if (so_far->less_is_better ? *metric.value > so_far->value
                                        : *metric.value < so_far->value) {
        so_far->group = group;
        so_far->value = *metric.value;
      }
    }
  }
  return worst;
}

}  // namespace tally::report
