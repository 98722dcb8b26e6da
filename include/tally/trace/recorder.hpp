// Keeps the events of one rank in bounded memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tally/trace/event.hpp>

namespace tally::trace {

// How many events a rank keeps. Those of batches have room of their own, so that a long loop cannot
// drive out what follows it.
struct Limits {
  std::int64_t of_batches = 1 << 18;
  std::int64_t others = 1 << 14;
};

// Less where there are many ranks, so that the file of all stays readable.
Limits limits_of(int world_size);

// While it lives, spans of every thread end up here; at most one lives at a time.
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

}  // namespace tally::trace
