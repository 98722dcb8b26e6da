#include <tally/trace/event.hpp>

#include <algorithm>
#include <tuple>

#include <tally/base/format.hpp>

namespace tally::trace {

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
  std::ranges::copy(name.substr(0, Event::kMostName), event.text.begin());
  return event;
}

bool stands_before(const Event& a, const Event& b) {
  return std::tuple(a.rank, a.track, a.begin_ns, -a.end_ns) <
         std::tuple(b.rank, b.track, b.begin_ns, -b.end_ns);
}

}  // namespace tally::trace
