#include "rank_timings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host.hpp>
#include <tally/base/log.hpp>
#include <tally/report/efficiency.hpp>

namespace tally::app {
namespace {

// Plain bytes, gathered from all ranks.
struct Timings {
  std::int64_t samples, first_batch_samples, bytes_read, bytes_needed;
  report::LoopTimes loop;
  double first_batch_s, read_s, wait_s, compute_s, wait_for_ranks_s;
  double energy_j;  // NaN where it is not known
};

// Of one sample: what the loop reads of it.
std::int64_t sample_bytes(const data::DataSetInfo& info) {
  std::int64_t bytes = 0;
  for (const auto* columns : {&info.inputs, &info.targets}) {
    for (const auto& column : *columns) bytes += column.row_bytes();
  }
  return bytes;
}

Timings metrics_of(const EvaluationSession& session, const LocalUnits& local,
                   const Phases& phases) {
  const auto& found = local.loop.stats;
  return {.samples = found.samples,
          .first_batch_samples = found.first_batch_samples,
          .bytes_read = local.loop.bytes_read,
          .bytes_needed = found.samples * sample_bytes(session.data.set->info()),
          .loop = {.total_s = found.total_s,
                   .wait_s = found.wait_s,
                   .prepare_s = found.prepare_s,
                   .forward_s = found.predict_s,
                   .metrics_s = found.score_s,
                   .device_wait_s = found.device_wait_s},
          .first_batch_s = found.first_batch_s,
          .read_s = local.loop.read_s,
          .wait_s = found.wait_s,
          .compute_s = found.prepare_s + found.predict_s + found.score_s + found.device_wait_s,
          .wait_for_ranks_s = phases.seconds_of("wait_for_ranks"),
          .energy_j = local.loop.energy_j.value_or(std::numeric_limits<double>::quiet_NaN())};
}

std::vector<Timings> gather_timings(const comm::Communicator& comm, const Timings& local) {
  const std::vector<std::int64_t> one_each(to_size(comm.world_size()), 1);
  std::vector<Timings> all(comm.is_root() ? one_each.size() : 0);
  comm.gather_rows(std::as_bytes(std::span(&local, 1)), sizeof(Timings), one_each,
                   std::as_writable_bytes(std::span(all)));
  return all;
}

// Of what follows each rank's first batch. Of one batch per rank there is no steady rate.
std::optional<double> steady_rate(const std::vector<Timings>& ranks) {
  std::int64_t later_samples = 0;
  double longest_s = 0;
  for (const Timings& rank : ranks) {
    later_samples += rank.samples - rank.first_batch_samples;
    longest_s = std::max(longest_s, rank.loop.total_s - rank.first_batch_s);
  }
  if (later_samples <= 0 || longest_s <= 0) return std::nullopt;
  return static_cast<double>(later_samples) / longest_s;
}

}  // namespace

void add_rank_timings(const comm::Communicator& comm, const EvaluationSession& session,
                      const LocalUnits& local, const Phases& phases, report::RunReport& report) {
  const auto all = gather_timings(comm, metrics_of(session, local, phases));
  const auto hosts = comm.gather(host_name());
  const auto devices = comm.gather(
      format("{}: {}", name(session.hardware.device.kind), session.hardware.device.model));
  std::set<std::string> counted;  // GPUs whose energy a rank has already
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Timings& from = all[rank];
    const std::string& gpu = session.hardware.placement.table[rank].choice.device.uuid;
    const bool is_known = !std::isnan(from.energy_j) && counted.insert(gpu).second;
    report.ranks.push_back({.rank = static_cast<int>(rank),
                            .host = hosts[rank],
                            .device = devices[rank],
                            .samples = from.samples,
                            .read_s = from.read_s,
                            .compute_s = from.compute_s,
                            .wait_s = from.wait_s,
                            .gpu = gpu,
                            .loop = from.loop,
                            .wait_for_ranks_s = from.wait_for_ranks_s,
                            .bytes_read = from.bytes_read,
                            .bytes_needed = from.bytes_needed,
                            .energy_j = is_known ? std::optional(from.energy_j) : std::nullopt});
  }
  report.steady_samples_per_s = steady_rate(all);
  const std::string note = report::stragglers_note(report::stragglers_of(report.ranks));
  if (note.empty()) return;
  report.notes.push_back(note);
  log::note(note);
}

}  // namespace tally::app
