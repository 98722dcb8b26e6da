// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/results.hpp>

namespace tally::metrics {

std::optional<double> ClassMetrics::value(std::string_view name) const {
  for (const MetricValue& metric : values) {
    if (metric.name == name) return metric.value;
  }
  return std::nullopt;
}

const MetricValue* Results::find(std::string_view name) const {
  for (const MetricValue& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace tally::metrics
