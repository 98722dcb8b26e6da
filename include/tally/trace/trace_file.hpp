// SPDX-License-Identifier: Apache-2.0
// Writes the trace of a job as a file that Perfetto and chrome://tracing show (docs/profiling.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/base/files.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::trace {

// What every trace begins with.
inline constexpr std::string_view kTraceBegins = "{\"traceEvents\":[";

// One rank as the file names it.
struct TracedRank {
  std::string host;
  std::int64_t num_dropped = 0;  // events that found no room
};

// Written piece by piece at partial_path(path), where it stays once it is finished.
class TraceFile {
 public:
  explicit TraceFile(const std::filesystem::path& path);  // Error(output)

  // Times count from `origin_ns`.
  void add(std::span<const Event> events, std::int64_t origin_ns);
  // Element i is rank i. The file is whole then, and synced. Error(output), as add().
  void finish(const std::vector<TracedRank>& ranks);

 private:
  void append(const std::string& json);
  void flush();

  PartialFile file_;
  std::string waiting_;
  std::int64_t num_events_ = 0;
  bool is_empty_ = true;
  std::set<std::pair<std::int32_t, std::int32_t>> tracks_;  // rank, track
};

}  // namespace tally::trace
