#include <tally/trace/recorder.hpp>

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>

#include "watchers.hpp"

namespace tally::trace {
namespace {

// Some hundred megabytes of text, which viewers still open.
constexpr std::int64_t kMostInFile = 1 << 22;
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
  const std::size_t place = num_added.fetch_add(1, std::memory_order_relaxed);
  if (place < num_places) {
    std::memcpy(places.get() + place * sizeof(Event), &event, sizeof(Event));
  } else {
    num_dropped.fetch_add(1, std::memory_order_relaxed);
  }
}

void Recorder::EventBuffer::move_to(std::vector<Event>& events) {
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

}  // namespace tally::trace
