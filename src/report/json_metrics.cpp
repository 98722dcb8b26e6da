// SPDX-License-Identifier: Apache-2.0
#include "json_metrics.hpp"

#include <tally/base/checked_cast.hpp>
#include <tally/base/task_traits.hpp>

#include "worst_groups.hpp"

namespace tally::report {
namespace {

// A threshold is a margin for questions and a score for all else; null where no score meets the
// condition.
Json threshold_json(const metrics::Threshold& threshold) {
  return threshold.margin ? number_or_null(threshold.margin) : number_or_null(threshold.score);
}

Json interval_json(const metrics::Interval& interval) {
  return Json::array({number_or_null(interval.low), number_or_null(interval.high)});
}

Json worst_json(const RunReport& report, const GroupMetrics& group) {
  Json worst = Json::object();
  for (const WorstGroup& of_metric : worst_groups(report.metrics.task, group)) {
    worst[of_metric.metric] = {{"group", of_metric.group}, {"value", of_metric.value}};
  }
  return worst;
}

}  // namespace

Json metrics_json(const metrics::Results& results) {
  Json object = Json::object();
  for (const auto& metric : results.metrics) {
    const auto& interval = metric.interval;
    object[metric.name] = {{"value", number_or_null(metric.value)},
                           {"low", interval ? number_or_null(interval->low) : Json()},
                           {"high", interval ? number_or_null(interval->high) : Json()},
                           {"method", interval ? Json(interval->method) : Json()}};
    if (metric.threshold) object[metric.name]["threshold"] = threshold_json(*metric.threshold);
  }
  return object;
}

Json per_class_json(const RunReport& report) {
  Json rows = Json::array();
  for (const auto& values : report.metrics.results.per_class) {
    const auto index = to_size(values.index);
    const auto& names = report.metrics.class_names;
    Json row = {{"class", values.index},
                {"name", index < names.size() ? Json(names[index]) : Json()},
                {"support", values.support}};
    // An output of a regression is a row here, too, and has no such counts.
    if (task_traits(report.metrics.task).has_class_counts) {
      row["predicted"] = values.predicted;
      row["correct"] = values.correct;
    }
    Json intervals = Json::object();
    Json thresholds = Json::object();
    for (const auto& metric : values.values) {
      row[metric.name] = number_or_null(metric.value);
      if (metric.interval) intervals[metric.name] = interval_json(*metric.interval);
      if (metric.threshold) thresholds[metric.name] = threshold_json(*metric.threshold);
    }
    // The intervals are always there, the thresholds only where the metrics have them
    // (docs/formats.md).
    row["intervals"] = std::move(intervals);
    if (!thresholds.empty()) row["thresholds"] = std::move(thresholds);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json entity_types_json(const metrics::Results& results) {
  Json rows = Json::array();
  for (const auto& values : results.entity_types) {
    rows.push_back({{"type", values.type},
                    {"support", values.support},
                    {"predicted", values.predicted},
                    {"correct", values.correct},
                    {"precision", number_or_null(values.precision)},
                    {"recall", number_or_null(values.recall)},
                    {"f1", number_or_null(values.f1)}});
  }
  return rows;
}

Json groups_json(const RunReport& report) {
  Json groups = Json::object();
  for (const GroupMetrics& group : report.metrics.groups) {
    Json values = Json::array();
    for (const auto& [value, results] : group.values) {
      values.push_back({{"value", value},
                        {"samples", results.units.count},
                        {"scored", results.counts.scored},
                        {"metrics", metrics_json(results)}});
    }
    groups[group.name] = {{"values", std::move(values)}, {"worst", worst_json(report, group)}};
  }
  return groups;
}

Json ties_json(const metrics::Results& results) {
  Json bounds = Json::object();
  for (const auto& of_metric : results.tie_bounds) {
    bounds[of_metric.metric] = {{"optimistic", number_or_null(of_metric.optimistic)},
                                {"pessimistic", number_or_null(of_metric.pessimistic)}};
  }
  // No number where there are no scores, and so no ties that anybody could see.
  const Json tied = results.counts.tied ? Json(*results.counts.tied) : Json();
  return {{"label_tied", tied}, {"bounds", std::move(bounds)}};
}

Json calibration_json(const RunReport& report) {
  Json bins = Json::array();
  for (const auto& bin : report.metrics.results.reliability) {
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"count", bin.count},
                    {"correct", bin.correct},
                    {"confidence", number_or_null(bin.confidence)}});
  }
  return bins;
}

}  // namespace tally::report
