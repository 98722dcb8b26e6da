// SPDX-License-Identifier: Apache-2.0
#include <tally/report/event_log.hpp>

#include <tally/base/clock.hpp>

#include "event_writer.hpp"
#include "json_metrics.hpp"

namespace tally::report {

struct EventLog::Impl {
  // It comes before the writer, whose clock refers to it.
  Stopwatch since_start;
  EventWriter writer;

  explicit Impl(const std::filesystem::path& path)
      : writer(path, [this] { return since_start.elapsed_s(); }) {}
};

EventLog::EventLog(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
EventLog::~EventLog() = default;

void EventLog::phase(std::string_view name) { impl_->writer.phase(name); }

void EventLog::progress(std::int64_t samples_done, std::int64_t total, double samples_per_s,
                        const std::vector<metrics::MetricValue>& running,
                        std::int64_t running_samples) {
  impl_->writer.progress(samples_done, total, samples_per_s, running, running_samples);
}

void EventLog::finished(std::string_view status) { impl_->writer.finished(status); }

bool are_events(std::string_view begin) {
  // The begin of a file may end in the middle of a later line, so that only the first one is
  // parsed.
  const Json first = Json::parse(begin.substr(0, begin.find('\n')), nullptr, false);
  return first.is_object() && first.contains("time") && first.contains("event");
}

bool may_be_begin_of_events(std::string_view text) {
  constexpr std::string_view kBegin = "{\"time\":\"";
  return text.find_first_not_of('\0') == std::string_view::npos || text.starts_with(kBegin) ||
         kBegin.starts_with(text);
}

}  // namespace tally::report
