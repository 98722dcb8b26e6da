// SPDX-License-Identifier: Apache-2.0
// Makes the text of report.json, the result of a run for programs.
#pragma once

#include <string>

#include <tally/report/run_report.hpp>

namespace tally::report {

// True when the evidence is that of every sample exactly once.
bool exactly_once(const RunReport& report);

// The text of report.json, as docs/formats.md says.
std::string to_json(const RunReport& report);

}  // namespace tally::report
