// SPDX-License-Identifier: Apache-2.0
#include <tally/trace/span_recording.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>

#include <tally/base/checked_cast.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>

namespace tally::trace {

// Makes `recorder` the one that spans go to; with null, spans are not recorded.
void watch(Recorder* recorder);

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::phase:
      return "phase";
    case Kind::step:
      return "step";
    case Kind::loop:
      return "loop";
    case Kind::data:
      return "data";
    case Kind::collective:
      return "collective";
    case Kind::device:
      return "device";
  }
  return "";
}

std::string track_name(std::int32_t track) {
  if (track == kMainTrack) return "main";
  if (track == kReaderTrack) return "reader";
  if (track == kDeviceTrack) return "device";
  if (track == kCopyTrack) return "device copies";
  return format("reader {}", track - kReaderTrack + 1);
}

Event make_event(Kind kind, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                 BatchId batch) {
  Event event;
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  event.batch = batch;
  event.kind = kind;
  // The array has one zero more than a name may be long, so name() always finds an end.
  std::ranges::copy(name.substr(0, Event::kMostName), event.text.begin());
  return event;
}

bool stands_before(const Event& a, const Event& b) {
  // Of spans that begin together the longer one is the outer one: viewers nest them in this order.
  return std::tuple(a.rank, a.track, a.begin_ns, -a.end_ns) <
         std::tuple(b.rank, b.track, b.begin_ns, -b.end_ns);
}

namespace {

// An event takes some 130 bytes of text (docs/profiling.md), so this many make a file of 0.5 GB,
// which viewers still open.
constexpr std::int64_t kMostInFile = 1 << 22;
// A rank keeps at least so many, even where very many ranks then exceed the number above.
constexpr std::int64_t kFewest = 1 << 12;

}  // namespace

Limits limits_of(int world_size) {
  Limits limits;
  limits.of_batches = std::clamp(kMostInFile / world_size, kFewest, limits.of_batches);
  limits.others = std::min(limits.others, limits.of_batches);
  return limits;
}

Recorder::EventBuffer::EventBuffer(std::int64_t places_wanted)
    : num_places(to_size(places_wanted)),
      places(std::make_unique_for_overwrite<std::byte[]>(num_places * sizeof(Event))) {}

void Recorder::EventBuffer::add(const Event& event) noexcept {
  // Each event gets a place of its own without a lock. Nothing is ordered by it: take() is called
  // when no thread adds any more.
  const std::size_t place = num_added.fetch_add(1, std::memory_order_relaxed);
  if (place < num_places) {
    std::memcpy(places.get() + place * sizeof(Event), &event, sizeof(Event));
  } else {
    num_dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::EventBuffer::move_to(std::vector<Event>& events) {
  // num_added goes on counting when there is no room left.
  const std::size_t count = std::min(num_added.exchange(0), num_places);
  const std::size_t before = events.size();
  events.resize(before + count);
  if (count > 0) std::memcpy(&events[before], places.get(), count * sizeof(Event));
}

Recorder::Recorder(const Limits& limits) : of_batches_(limits.of_batches), others_(limits.others) {
  watch(this);
}
Recorder::~Recorder() { watch(nullptr); }

void Recorder::add(const Event& event) noexcept {
  (event.batch.index >= 0 ? of_batches_ : others_).add(event);
}

std::vector<Event> Recorder::take() {
  std::vector<Event> events;
  of_batches_.move_to(events);
  others_.move_to(events);
  std::ranges::sort(events, stands_before);
  return events;
}

std::int64_t Recorder::num_dropped() const { return of_batches_.num_dropped + others_.num_dropped; }

namespace {

// Spans are opened in rooms that know neither the run nor one another, so the recorder is found
// here (docs/decisions/016).
std::atomic<Recorder*> living = nullptr;
Mirror mirror;
thread_local std::int32_t track_of_thread = kMainTrack;

constexpr double kNanosecond = 1e-9;

}  // namespace

namespace detail {
std::atomic<bool> is_watched = false;
}

void watch(Recorder* recorder) {
  living.store(recorder);
  detail::is_watched.store(recorder != nullptr || mirror.begin != nullptr);
}

void set_mirror(const Mirror& given) {
  mirror = given;
  watch(living.load());
}

Recorder* recorder() { return living.load(std::memory_order_acquire); }

void set_track(std::int32_t track) { track_of_thread = track; }

void Span::begin() noexcept {
  if (mirror.begin != nullptr) mirror.begin(name_);
  begin_ns_ = now_ns();
}

void Span::end() noexcept {
  // The clock is read first, so that recording is no part of the span. One reading serves the sum
  // in the report and the trace, which therefore cannot contradict each other.
  const std::int64_t end_ns = now_ns();
  if (sum_s_ != nullptr) *sum_s_ += static_cast<double>(end_ns - begin_ns_) * kNanosecond;
  if (Recorder* const to = recorder()) {
    Event event = make_event(kind_, name_, begin_ns_, end_ns, batch_);
    event.track = track_of_thread;
    to->add(event);
  }
  if (mirror.end != nullptr) mirror.end();
}

}  // namespace tally::trace
