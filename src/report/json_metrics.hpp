// What report.json says of the scores: metrics, classes, subgroups.
#pragma once

#include <tally/report/run_report.hpp>

#include "json_text.hpp"

namespace tally::report {

Json metrics_json(const metrics::Results& results);
Json per_class_json(const RunReport& report);
Json groups_json(const RunReport& report);
Json ties_json(const metrics::Results& results);
Json calibration_json(const RunReport& report);

}  // namespace tally::report
