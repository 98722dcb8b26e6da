// Marks what a thread does from here to the end of the scope: for the recorder that lives, and for
// a profiler's view. Where there is neither, a span is one branch.
#pragma once

#include <atomic>
#include <cstdint>

#include <tally/trace/event.hpp>
#include <tally/trace/recorder.hpp>

namespace tally::trace {

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
