// SPDX-License-Identifier: Apache-2.0
// Writes events.jsonl, which says what a run does while it does it, one JSON object in a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <tally/metrics/results.hpp>

namespace tally::report {

// Flushed line by line, so that loggers can follow it. Goes on behind what is there.
class EventLog {
 public:
  explicit EventLog(const std::filesystem::path& path);  // Error(output)
  ~EventLog();
  void phase(std::string_view name);  // "load_model", …
  void progress(std::int64_t samples_done, std::int64_t total, double samples_per_s,
                const std::vector<metrics::MetricValue>& running, std::int64_t running_samples);
  void finished(std::string_view status);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether a file that begins so, with a whole line, is an events.jsonl.
bool are_events(std::string_view begin);
// Whether a file that holds this, without a line feed, may be one whose first line did not reach
// the disk before the power failed: a part of it, or zeros in its place.
bool may_be_begin_of_events(std::string_view text);

}  // namespace tally::report
