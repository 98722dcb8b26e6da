// SPDX-License-Identifier: Apache-2.0
// Writes the table that a person reads at the end of a run.
#pragma once

#include <filesystem>
#include <string>

#include <tally/report/run_report.hpp>

namespace tally::report {

// `folder` is where the results are.
std::string to_table(const RunReport& report, const std::filesystem::path& folder);

}  // namespace tally::report
