#include "earlier_result.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/hdf5/signature.hpp>
#include <tally/report/progress.hpp>
#include <tally/report/run_report.hpp>
#include <tally/result_folder/trace_path.hpp>

#include "replacement.hpp"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using Reported = std::optional<report::ReportedFiles>;

bool has_mark(const fs::path& file, std::string_view mark) {
  try {
    return hdf5::is_hdf5_file(file) && hdf5::Reader(file).has_attribute("/", mark);
  } catch (const Error&) {
    return false;
  }
}

bool is_of_tally(const fs::path& file, const Reported& report) {
  const std::string name = file.filename();
  if (name == "report.json") return report.has_value();
  if (name == "metrics.h5") return report || has_mark(file, "tally_metrics");
  if (name == "predictions.h5") {
    return (report && report->predictions) || has_mark(file, "tally_predictions");
  }
  return report && std::ranges::find(report->texts, name) != report->texts.end();
}

// A run that was killed may not have written its first line.
bool holds_events(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;  // a pipe would block
  std::string line;
  std::ifstream stream(file, std::ios::binary);
  return !std::getline(stream, line) || report::are_events(line);
}

// One elsewhere is the user's. Empty if there is none.
fs::path trace_of(const Reported& report, const fs::path& folder, const fs::path& new_trace) {
  if (!report || report->trace.empty()) return {};
  const fs::path trace = report->trace;
  std::error_code ignored;
  const bool is_file = fs::symlink_status(trace, ignored).type() == fs::file_type::regular;
  if (!is_file || !lies_in(trace, folder) || !is_trace(trace)) return {};
  return fs::equivalent(trace, new_trace, ignored) ? fs::path() : trace.filename();
}

void require_of_tally(const fs::path& file, bool is_ours) {
  if (is_ours) return;
  throw Error(ErrorKind::output,
              format("output folder '{}' holds '{}', which no run of tally wrote",
                     printable(file.parent_path().string()), printable(file.filename().string())),
              "Name another one with --output, or move the file away.");
}

}  // namespace

std::vector<std::string> earlier_result(const fs::path& folder, const fs::path& new_trace) {
  const Reported report = report::files_of_report(folder / kResultFiles.front());
  std::vector<std::string> names;
  for (const auto name : kResultFiles) {
    if (!is_there(folder / name)) continue;
    require_of_tally(folder / name, is_of_tally(folder / name, report));
    names.emplace_back(name);
  }
  const fs::path events = folder / kEventsFile;
  if (is_there(events)) require_of_tally(events, holds_events(events));
  if (const auto trace = trace_of(report, folder, new_trace); !trace.empty()) {
    names.push_back(trace);
  }
  return names;
}

}  // namespace tally::app
