// SPDX-License-Identifier: Apache-2.0
// Writes and describes metrics.h5: metrics of classes, confusion matrices and curves, which are too
// large for report.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tally/report/run_report.hpp>

namespace tally::report {

// The file as docs/formats.md says, synced. Throws Error(output), also where the file exists
// already; that file is kept, and a partial new one is removed.
void write_metrics_file(const RunReport& report, const std::filesystem::path& path);

// `tally inspect metrics.h5`: what it holds, as lines. Error(usage) if it is none.
std::vector<std::string> describe_metrics_file(const std::filesystem::path& path);

}  // namespace tally::report
