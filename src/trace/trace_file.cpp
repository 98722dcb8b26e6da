// SPDX-License-Identifier: Apache-2.0
#include <tally/trace/trace_file.hpp>

#include <nlohmann/json.hpp>

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

namespace tally::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPieceBytes = 64 << 10;

// Host names come from outside: bytes that are not UTF-8 are replaced, because the default would
// throw and stop the run.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The format has times in microseconds; their fractions keep the nanoseconds.
double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

// Ranks and tracks are numbered from 1 in the file, because Perfetto takes 0 for the kernel's idle
// thread.
constexpr std::int32_t kFirstNumber = 1;

Json event_json(const Event& event, std::int64_t origin_ns) {
  Json args = Json::object();
  if (event.batch.index >= 0) args["batch"] = event.batch.index;
  if (event.batch.samples >= 0) args["samples"] = event.batch.samples;
  return {{"name", event.name()},
          {"cat", name(event.kind)},
          {"ph", "X"},
          {"ts", microseconds(event.begin_ns - origin_ns)},
          {"dur", microseconds(event.end_ns - event.begin_ns)},
          {"pid", event.rank + kFirstNumber},
          {"tid", event.track + kFirstNumber},
          {"args", std::move(args)}};
}

// Makes the metadata by which a viewer names a process or a thread, or puts it in order.
Json label_json(const char* what, std::int64_t rank, std::int64_t track, const char* key,
                Json value) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", rank + kFirstNumber},
          {"tid", track + kFirstNumber},
          {"args", {{key, std::move(value)}}}};
}

Json facts_json(const std::vector<TracedRank>& ranks, std::int64_t num_events) {
  Json dropped = Json::object();
  std::int64_t all_dropped = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    all_dropped += ranks[rank].num_dropped;
    if (ranks[rank].num_dropped > 0) dropped[std::to_string(rank)] = ranks[rank].num_dropped;
  }
  return {{"tally_version", build_info().version},
          {"ranks", ranks.size()},
          {"events", num_events},
          {"dropped_events", all_dropped},
          {"dropped_events_by_rank", std::move(dropped)}};
}

}  // namespace

TraceFile::TraceFile(const std::filesystem::path& path) : file_(path), waiting_(kTraceBegins) {
  waiting_ += "\n";
}

void TraceFile::add(std::span<const Event> events, std::int64_t origin_ns) {
  for (const Event& event : events) {
    // Only tracks that have events get a name at the end of the file.
    tracks_.emplace(event.rank, event.track);
    append(text_of(event_json(event, origin_ns)));
  }
  num_events_ += std::ssize(events);
}

void TraceFile::append(const std::string& json) {
  if (!is_empty_) waiting_ += ",\n";
  is_empty_ = false;
  waiting_ += json;
  if (waiting_.size() >= kPieceBytes) flush();
}

void TraceFile::flush() {
  file_.append(waiting_);
  waiting_.clear();
}

void TraceFile::finish(const std::vector<TracedRank>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto pid = checked_cast<std::int64_t>(rank);
    append(text_of(label_json("process_name", pid, 0, "name",
                              format("rank {} on {}", rank, ranks[rank].host))));
    append(text_of(label_json("process_sort_index", pid, 0, "sort_index", pid)));
  }
  for (const auto& [rank, track] : tracks_) {
    append(text_of(label_json("thread_name", rank, track, "name", track_name(track))));
    append(text_of(label_json("thread_sort_index", rank, track, "sort_index", track)));
  }
  waiting_ += "\n],\"displayTimeUnit\":\"ms\",\"otherData\":";
  waiting_ += text_of(facts_json(ranks, num_events_)) + "}\n";
  flush();
  file_.finish();
}

}  // namespace tally::trace
