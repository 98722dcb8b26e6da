// SPDX-License-Identifier: Apache-2.0
#include "replacement.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string_view>

#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/hdf5/library.hpp>
#include <tally/hdf5/reader.hpp>
#include <tally/report/describe_report.hpp>
#include <tally/report/event_log.hpp>
#include <tally/result_folder/check_trace_path.hpp>
#include <tally/resume/progress_files.hpp>

namespace tally::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReport = kResultFiles.front();
// The earlier result lies here until the new one is complete. By its first name, whatever else is
// in the folder is not of the new result; by its second, none of it is of the earlier one. One
// rename changes the name.
constexpr std::string_view kReplacing = ".tally-replacing";
constexpr std::string_view kReplaced = ".tally-replaced";

[[noreturn]] void fail(const fs::path& path, const char* call, int error) {
  throw Error(ErrorKind::output,
              format("cannot replace the result in '{}' ({} {}: {})",
                     printable(path.parent_path().string()), call,
                     printable(path.filename().string()), errno_text(error)),
              "Check the folder's permissions and free space; what was there is kept.");
}

void rename_to(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "rename", errno);
}

// A missing file is no failure: a result need not have all files, and an earlier attempt that was
// killed may have moved some.
void move_if_there(std::string_view name, const fs::path& from, const fs::path& to) {
  const fs::path there = to / name;
  if (::rename((from / name).c_str(), there.c_str()) != 0 && errno != ENOENT) {
    fail(there, "rename", errno);
  }
}

void move_all(const std::vector<std::string>& names, const fs::path& from, const fs::path& to) {
  for (const auto& name : names) move_if_there(name, from, to);
}

void unlink_if_there(const fs::path& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) fail(file, "unlink", errno);
}

// A link to a folder is none of ours.
bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory;
}

void discard(const fs::path& aside) {
  for (const auto& name : names_in(aside)) unlink_if_there(aside / name);
  if (::rmdir(aside.c_str()) != 0) fail(aside, "rmdir", errno);
}

void remove_new(const fs::path& folder) {
  for (const auto name : kResultFiles) unlink_if_there(folder / name);
  // A run that can be resumed keeps its events, unless those of the earlier result come back.
  const bool is_resumable =
      is_there(folder / resume::kProgressFolder) && !is_there(folder / kReplaced / kEventsFile);
  if (!is_resumable) unlink_if_there(folder / kEventsFile);
  // The rename of the folder must not reach the disk before these removals.
  sync_folder(folder);
}

bool has_report(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kReport, ignored);
}

}  // namespace

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) fail(folder, "read", error.value());
  return names;
}

bool is_being_replaced(const fs::path& folder) {
  return is_folder(folder / kReplacing) || is_folder(folder / kReplaced);
}

bool lacks_its_report(const fs::path& folder) {
  return !has_report(folder) && (has_report(folder / kReplacing) || has_report(folder / kReplaced));
}

void settle(const fs::path& folder) {
  if (is_folder(folder / kReplaced) && has_report(folder)) discard(folder / kReplaced);
  roll_back(folder);
}

fs::path set_aside(const fs::path& folder) { return folder / kReplacing; }

void begin_replacing(const fs::path& folder, bool events_stay) {
  const fs::path aside = set_aside(folder);
  if (::mkdir(aside.c_str(), 0777) != 0) fail(aside, "mkdir", errno);
  if (events_stay) return;
  try {
    move_if_there(kEventsFile, folder, aside);
  } catch (...) {
    ::rmdir(aside.c_str());
    throw;
  }
}

void replace_result(const fs::path& folder, const std::vector<std::string>& earlier,
                    const std::vector<std::string>& names, const std::function<void()>& complete) {
  const fs::path aside = set_aside(folder);
  // The report goes first, so that no reader takes what is left for a whole result.
  move_if_there(kReport, folder, aside);
  move_all(earlier, folder, aside);
  // Both folders are on the disk before the next rename says that nothing of the earlier result is
  // left under its names.
  sync_folder(aside);
  sync_folder(folder);
  rename_to(aside, folder / kReplaced);
  for (const auto& name : names) {
    if (name != kReport) publish_file(partial_path(folder / name), folder / name);
  }
  publish_file(partial_path(folder / kReport), folder / kReport);
  complete();
}

void discard_replaced(const fs::path& folder) noexcept {
  try {
    discard(folder / kReplaced);
  } catch (const std::exception&) {  // the next run that comes here does it
  }
}

void roll_back(const fs::path& folder) {
  const fs::path aside = set_aside(folder);
  if (is_folder(folder / kReplaced)) {
    remove_new(folder);
    rename_to(folder / kReplaced, aside);
  }
  if (!is_folder(aside)) return;
  auto names = names_in(aside);
  std::erase(names, kReport);
  move_all(names, aside, folder);
  move_if_there(kReport, aside, folder);  // it comes last
  sync_folder(folder);
  ::rmdir(aside.c_str());
}

void cut_torn_line(const fs::path& events) {
  std::ifstream stream(events, std::ios::binary);
  std::string line;
  std::int64_t whole_bytes = 0;
  // Without its line feed the last line was not written to its end.
  while (std::getline(stream, line) && !stream.eof()) whole_bytes += std::ssize(line) + 1;
  if (::truncate(events.c_str(), whole_bytes) != 0) fail(events, "truncate", errno);
}

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

// HDF5 files have a mark of their own. JSON files have none: they are ours if the report lists
// them.
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
  if (!std::getline(stream, line) || report::are_events(line)) return true;
  return stream.eof() && report::may_be_begin_of_events(line);
}

// Returns the name of the result's trace in its folder, empty if there is none: a trace elsewhere
// is the user's.
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

void require_own_events(const fs::path& folder) {
  const fs::path events = folder / kEventsFile;
  if (is_there(events)) require_of_tally(events, holds_events(events));
}

std::vector<std::string> earlier_result(const fs::path& folder, const fs::path& new_trace) {
  const Reported report = report::files_of_report(folder / kResultFiles.front());
  std::vector<std::string> names;
  for (const auto name : kResultFiles) {
    if (!is_there(folder / name)) continue;
    require_of_tally(folder / name, is_of_tally(folder / name, report));
    names.emplace_back(name);
  }
  require_own_events(folder);
  if (const auto trace = trace_of(report, folder, new_trace); !trace.empty()) {
    names.push_back(trace);
  }
  return names;
}

}  // namespace tally::app
