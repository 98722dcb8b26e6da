// SPDX-License-Identifier: Apache-2.0
// What report.json and events.jsonl have in common, and what report.json says of the scores:
// metrics, classes, subgroups.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <tally/report/run_report.hpp>

namespace tally::report {

// Rises when a key of report.json is removed or changes its meaning.
inline constexpr int kReportSchema = 1;

// Keys stay in the order in which they are written, which is that of the documentation.
using Json = nlohmann::ordered_json;

// JSON as UTF-8, on one line for a negative indent. Bytes that are not UTF-8 become U+FFFD: paths
// and class names come from outside and must not stop a report.
inline std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// JSON has no NaN and no infinity.
inline Json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json metrics_json(const metrics::Results& results);
Json per_class_json(const RunReport& report);
// Empty where no entities are counted.
Json entity_types_json(const metrics::Results& results);
Json groups_json(const RunReport& report);
Json ties_json(const metrics::Results& results);
Json calibration_json(const RunReport& report);

}  // namespace tally::report
