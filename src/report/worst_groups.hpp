// SPDX-License-Identifier: Apache-2.0
// The subgroup in which a metric is worst.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/report/run_report.hpp>

namespace tally::report {

struct WorstGroup {
  std::string metric;
  std::int32_t group = 0;
  double value = 0;
  bool less_is_better = false;  // of the metric
};

// One per metric that has a value in some subgroup; of equal ones the first. For a metric of
// which less is better, the group with the largest value.
std::vector<WorstGroup> worst_groups(std::string_view task, const GroupMetrics& values);

}  // namespace tally::report
