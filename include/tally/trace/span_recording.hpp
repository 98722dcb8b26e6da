// SPDX-License-Identifier: Apache-2.0
// Records spans of time in which a thread does one thing: they are marked to the end of a scope,
// kept as events in bounded memory by the recorder that lives, and shown to a profiler.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// How many events a rank keeps. Those of batches have room of their own, so that a long loop cannot
// drive out what follows it.
struct Limits {
  std::int64_t of_batches = 1 << 18;
  std::int64_t others = 1 << 14;
};

// Less where there are many ranks, so that the file of all stays readable.
Limits limits_of(int world_size);

// Keeps the events of one rank in bounded memory. While it lives, spans of every thread end up
// here; at most one lives at a time.
class Recorder {
 public:
  explicit Recorder(const Limits& limits);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // From any thread. What finds no room is only counted.
  void add(const Event& event) noexcept;

  // The events so far, in the order of stands_before(); then it is empty again. Nobody adds
  // meanwhile.
  std::vector<Event> take();
  std::int64_t num_dropped() const;

 private:
  struct EventBuffer {
    explicit EventBuffer(std::int64_t num_places);
    void add(const Event& event) noexcept;
    void move_to(std::vector<Event>& events);

    std::size_t num_places;
    std::unique_ptr<std::byte[]> places;  // of events; not touched before use
    std::atomic<std::size_t> num_added = 0;
    std::atomic<std::int64_t> num_dropped = 0;
  };

  EventBuffer of_batches_, others_;
};

// An observer that sees every span begin and end, on its thread.
struct Mirror {
  void (*begin)(const char* name) noexcept = nullptr;
  void (*end)() noexcept = nullptr;
};
// Before there are spans.
void set_mirror(const Mirror& mirror);

// The recorder that lives, or null.
Recorder* recorder();

// On which track the spans of this thread stand from now on; the main one at first.
void set_track(std::int32_t track);

namespace detail {
extern std::atomic<bool> is_watched;
}

// Marks what a thread does from here to the end of the scope: for the recorder that lives, and for
// a profiler's view. Where there is neither, a span is one branch.
class Span {
 public:
  // `name` stays, and is at most Event::kMostName long. The seconds are added to *sum_s.
  Span(Kind kind, const char* name, BatchId batch = {}, double* sum_s = nullptr)
      : sum_s_(sum_s), name_(name), batch_(batch), kind_(kind) {
    is_begun_ = sum_s != nullptr || detail::is_watched.load(std::memory_order_relaxed);
    if (is_begun_) begin();
  }
  ~Span() {
    if (is_begun_) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Where it is known only in the end.
  void set_batch(BatchId batch) { batch_ = batch; }

 private:
  void begin() noexcept;
  void end() noexcept;

  double* sum_s_;
  const char* name_;
  BatchId batch_;
  std::int64_t begin_ns_ = 0;
  Kind kind_;
  bool is_begun_;
};

}  // namespace tally::trace
