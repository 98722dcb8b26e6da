// SPDX-License-Identifier: Apache-2.0
#include "event_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "json_metrics.hpp"

namespace tally::report {
namespace {

// In seconds, so that a log of hours stays small.
constexpr double kProgressInterval = 1.0;

Error failure(const std::filesystem::path& path, const char* call, int error) {
  return {ErrorKind::output,
          format("cannot write events file '{}' ({}: {})", printable(path.string()), call,
                 errno_text(error)),
          "Check the folder's permissions and free space."};
}

}  // namespace

EventWriter::EventWriter(const std::filesystem::path& path, std::function<double()> elapsed_s)
    : path_(path),
      elapsed_s_(std::move(elapsed_s)),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (!file_) throw failure(path_, "open", errno);
}

void EventWriter::phase(std::string_view name) { append("phase", {{"name", name}}); }

void EventWriter::progress(std::int64_t samples_done, std::int64_t total, double samples_per_s,
                           const std::vector<metrics::MetricValue>& running,
                           std::int64_t running_samples) {
  if (!is_due(samples_done, total)) return;
  Json values = Json::object();
  for (const auto& metric : running) values[metric.name] = number_or_null(metric.value);
  append("progress", {{"samples_done", samples_done},
                      {"samples_total", total},
                      {"samples_per_s", number_or_null(samples_per_s)},
                      {"running_metrics", std::move(values)},
                      {"running_samples", running_samples}});
}

void EventWriter::finished(std::string_view status) {
  // There is no file any more where an earlier write has failed.
  if (!file_) return;
  const off_t before = ::lseek(file_.get(), 0, SEEK_END);
  try {
    append("finished", {{"status", status}});
    sync_and_close(std::move(file_), path_);
  } catch (...) {
    // The run then ends otherwise than the event says.
    [[maybe_unused]] const int ignored = ::truncate(path_.c_str(), before);
    throw;
  }
}

bool EventWriter::is_due(std::int64_t samples_done, std::int64_t total) {
  const double now_s = elapsed_s_();
  // The last event is due whatever the time, for it shows that the loop has ended.
  const bool due =
      !progress_at_s_ || samples_done >= total || now_s - *progress_at_s_ >= kProgressInterval;
  if (due) progress_at_s_ = now_s;
  return due;
}

void EventWriter::append(std::string_view event, Json fields) {
  if (!file_) return;
  // Time and kind come first in each line, whatever the event has beside them.
  Json json{{"time", utc_now_iso()}, {"event", event}};
  json.update(fields);
  const std::string line = json_text(json, -1) + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    // A signal may interrupt the call before a byte is written.
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      // Closing the file may change errno. Without a file later events are dropped, so that the
      // error is thrown once.
      const int error = errno;
      file_ = {};
      throw failure(path_, "write", error);
    }
    rest.remove_prefix(to_size(written));
  }
}

}  // namespace tally::report
