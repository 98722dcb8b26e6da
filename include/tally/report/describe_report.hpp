// SPDX-License-Identifier: Apache-2.0
// Reads a report.json on disk and says what it holds.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tally::report {

// `tally inspect report.json`: the metrics of a report as lines. Error(usage) if it is none.
std::vector<std::string> describe_report(const std::filesystem::path& path);

// Which files a report names beside it, and of which inputs it is.
struct ReportedFiles {
  std::string inputs_digest;       // digests.inputs; empty in reports that have none
  bool predictions = false;        // predictions.h5
  std::string trace;               // --trace of its run; empty without one
  std::vector<std::string> texts;  // "detections.json"
};
// Nothing where there is no file, or one that no run of tally wrote.
std::optional<ReportedFiles> files_of_report(const std::filesystem::path& path);

}  // namespace tally::report
