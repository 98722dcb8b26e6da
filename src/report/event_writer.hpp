// SPDX-License-Identifier: Apache-2.0
// events.jsonl, with the clock given from outside.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <tally/base/files.hpp>
#include <tally/metrics/results.hpp>

namespace tally::report {

class EventWriter {
 public:
  // `elapsed_s` tells the seconds since any fixed moment. Error(output).
  EventWriter(const std::filesystem::path& path, std::function<double()> elapsed_s);

  void phase(std::string_view name);
  // The first and the last (samples_done == total) are always written, others once a second.
  void progress(std::int64_t samples_done, std::int64_t total, double samples_per_s,
                const std::vector<metrics::MetricValue>& running, std::int64_t running_samples);
  // The last event; nothing follows. What is written is on the disk then: Error(output) if not.
  void finished(std::string_view status);

 private:
  bool is_due(std::int64_t samples_done, std::int64_t total);
  // One whole line in one write, so that a follower sees no half of one. Error(output) the first
  // time it fails; after that the log is closed and nothing is written.
  void append(std::string_view event, nlohmann::ordered_json fields);

  std::filesystem::path path_;
  std::function<double()> elapsed_s_;
  std::optional<double> progress_at_s_;
  UniqueDescriptor file_;
};

}  // namespace tally::report
