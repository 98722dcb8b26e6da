#include <tally/trace/span.hpp>

#include <tally/base/clock.hpp>

#include "watchers.hpp"

namespace tally::trace {
namespace {

// Spans stand in rooms that know neither the job nor one another.
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
