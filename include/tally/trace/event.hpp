// A span of time in which a rank did one thing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally::trace {

// What a span belongs to; the `cat` of a trace.
enum class Kind : std::uint8_t { phase, step, loop, data, collective, device };
std::string_view name(Kind kind);

// Which line of its rank a span stands on. Spans of one track nest or follow one another.
inline constexpr std::int32_t kMainTrack = 0;
inline constexpr std::int32_t kReaderTrack = 1;    // and as many more as there are readers
inline constexpr std::int32_t kDeviceTrack = 100;  // what a GPU computes
inline constexpr std::int32_t kCopyTrack = 101;    // what is copied to it
// "main", "reader", "reader 2", "device", "device copies"
std::string track_name(std::int32_t track);

// The batch that a span is about; -1: none.
struct BatchId {
  std::int64_t index = -1;
  std::int64_t samples = -1;
};

// Plain bytes without padding, so that ranks can exchange them.
struct Event {
  static constexpr std::size_t kMostName = 22;
  std::int64_t begin_ns = 0, end_ns = 0;  // steady clock
  BatchId batch;
  std::int32_t rank = 0;
  std::int32_t track = kMainTrack;
  Kind kind = Kind::step;
  std::array<char, kMostName + 1> text = {};  // the name, cut, and zeros behind it

  std::string_view name() const { return text.data(); }
};
static_assert(sizeof(Event) == 64);

// A name longer than Event::kMostName is cut.
Event make_event(Kind kind, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                 BatchId batch = {});

// As a viewer wants them: by rank, track and begin; of those that begin together the outer first.
bool stands_before(const Event& a, const Event& b);

}  // namespace tally::trace
