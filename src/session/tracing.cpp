// SPDX-License-Identifier: Apache-2.0
#include <tally/session/tracing.hpp>

#include <algorithm>
#include <limits>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/comm/windowed_gather.hpp>
#include <tally/device/nvtx_ranges.hpp>
#include <tally/trace/span_recording.hpp>

namespace tally::app {
namespace {

constexpr std::int64_t kEventBytes = sizeof(trace::Event);

// Events are plain data of one size, and travel as bytes.
comm::RowSource rows_of(const std::vector<trace::Event>& events) {
  return {.num_rows = std::ssize(events),
          .row_bytes = {kEventBytes},
          .read = [&events](std::int64_t, std::int64_t first, std::int64_t count,
                            std::span<std::byte> out) {
            const auto rows = std::span(events).subspan(to_size(first), to_size(count));
            std::ranges::copy(std::as_bytes(rows), out.begin());
          }};
}

std::vector<trace::Event> events_in(std::span<const std::byte> rows) {
  std::vector<trace::Event> events(rows.size() / sizeof(trace::Event));
  std::ranges::copy(rows, std::as_writable_bytes(std::span(events)).begin());
  return events;
}

// Keeps the first failure instead of throwing it: gathering is collective, and the other ranks
// still send what they have.
void add_unless(std::optional<Error>& failure, trace::TraceFile& file,
                std::span<const std::byte> rows, std::int64_t origin_ns) {
  if (failure) return;
  try {
    file.add(events_in(rows), origin_ns);
  } catch (...) {
    failure = current_error();
  }
}

// Collective. Returns the earliest begin of all ranks, on rank 0's clock. There is no collective
// minimum, hence the negated maximum.
std::int64_t earliest(const comm::Communicator& comm, const std::vector<trace::Event>& events) {
  std::int64_t local = std::numeric_limits<std::int64_t>::max();
  for (const trace::Event& event : events) local = std::min(local, event.begin_ns);
  return -comm.max(-local);
}

}  // namespace

Tracing::Tracing(const comm::Communicator& comm)
    : recorder_(trace::limits_of(comm.world_size())), first_clocks_(comm::compare_clocks(comm)) {}

std::vector<trace::Event> Tracing::take(Phases& phases) {
  phases.record(recorder_);
  return recorder_.take();
}

std::optional<Error> Tracing::gather(const comm::Communicator& comm, Phases& phases,
                                     std::int64_t window_bytes, trace::TraceFile* file) {
  // Clocks of two nodes drift apart during a run: the comparisons at its begin and at its end give
  // the offset for every event between them.
  const comm::ClockOffset last_clocks = comm::compare_clocks(comm);
  auto events = take(phases);
  for (trace::Event& event : events) {
    event.rank = comm.rank();
    event.begin_ns = comm::on_rank_0(event.begin_ns, first_clocks_, last_clocks);
    event.end_ns = comm::on_rank_0(event.end_ns, first_clocks_, last_clocks);
  }
  origin_ns_ = earliest(comm, events);
  std::optional<Error> failure;
  comm::gather_in_order(comm, rows_of(events), window_bytes,
                        [&](std::int64_t, std::int64_t, std::span<const std::byte> rows) {
                          add_unless(failure, *file, rows, origin_ns_);
                        });
  const auto dropped = comm.all_gather(recorder_.num_dropped());
  for (const std::string& host : comm.gather(host_name())) {
    ranks_.push_back({host, dropped[ranks_.size()]});
  }
  return failure;
}

std::int64_t Tracing::num_dropped() const {
  std::int64_t dropped = 0;
  for (const trace::TracedRank& rank : ranks_) dropped += rank.num_dropped;
  return dropped;
}

void Tracing::finish(Phases& phases, trace::TraceFile& file) {
  file.add(take(phases), origin_ns_);
  file.finish(ranks_);
}

void show_spans_to_profilers() {
  if (!device::are_ranges_seen()) return;
  trace::set_mirror({device::begin_range, device::end_range});
}

}  // namespace tally::app
