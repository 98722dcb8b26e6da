// SPDX-License-Identifier: Apache-2.0
// What a run says while it runs: a bar or log lines on stderr, one JSON object per line in
// events.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/metrics/results.hpp>

namespace tally::report {

enum class ProgressStyle { bar, log, off };
// "auto" is a bar if stderr is a terminal, else log lines. Error(usage) for an unknown word.
ProgressStyle progress_style_from_name(std::string_view word);

// A bar that is redrawn at most ten times a second, or a line every ten seconds and one at the end.
// Rank 0's own share stands for the whole job: ranks do not talk inside the loop.
class ProgressDisplay {
 public:
  ProgressDisplay(ProgressStyle style, std::int64_t total_samples);
  ~ProgressDisplay();
  void update(std::int64_t samples_done, std::optional<double> accuracy);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The line that the display shows: "412/1000 samples, 41 %, 153.2/s, 0:03 left, accuracy 0.912".
std::string progress_text(std::int64_t done, std::int64_t total, double elapsed_s,
                          std::optional<double> accuracy);

// events.jsonl; flushed line by line, so that loggers can follow it.
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

}  // namespace tally::report
