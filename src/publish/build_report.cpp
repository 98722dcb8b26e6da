// SPDX-License-Identifier: Apache-2.0
#include "build_report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/log.hpp>
#include <tally/plan/coverage.hpp>
#include <tally/report/efficiency.hpp>
#include <tally/session/comparability.hpp>

#include "diagnose_run.hpp"
#include "run_provenance.hpp"

namespace tally::app {
namespace {

// Plain data that all ranks send to rank 0 as bytes.
struct Timings {
  std::int64_t samples, first_batch_samples, bytes_read, bytes_needed;
  report::LoopTimes loop;
  double first_batch_s, read_s, wait_s, compute_s, wait_for_ranks_s;
  double energy_j;  // NaN where it is not known
};

// Returns the bytes that the loop reads of one sample.
std::int64_t sample_bytes(const data::DataSetInfo& info) {
  std::int64_t bytes = 0;
  for (const auto* columns : {&info.columns.inputs, &info.columns.targets}) {
    for (const auto& column : *columns) bytes += column.row_bytes();
  }
  return bytes;
}

Timings timings_of(const EvaluationSession& session, const LocalUnits& local,
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

// Returns samples per second behind each rank's first batch, which pays for what a device does only
// once. Ranks compute at the same time, so that the longest time counts. With one batch per rank
// there is no steady rate.
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
  const auto all = gather_timings(comm, timings_of(session, local, phases));
  const auto hosts = comm.gather(host_name());
  const auto devices = comm.gather(
      format("{}: {}", name(session.hardware.device.kind), session.hardware.device.model));
  std::set<std::string> counted;  // GPUs whose energy a rank has already
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const Timings& from = all[rank];
    const std::string& gpu = session.hardware.placement.table[rank].choice.device.uuid;
    // The counter is that of the whole GPU: where ranks share one, only the first of them has its
    // energy.
    const bool is_known = !std::isnan(from.energy_j) && counted.insert(gpu).second;
    report.timing.ranks.push_back(
        {.rank = static_cast<int>(rank),
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
  report.timing.steady_samples_per_s = steady_rate(all);
  const std::string note = report::stragglers_note(report::stragglers_of(report.timing.ranks));
  if (note.empty()) return;
  report.notes.push_back(note);
  log::note(note);
}

namespace {

// Of a run that was resumed, what was evaluated before.
bool all_parts_compare(const EvaluationSession& session, const std::string& digest_class) {
  if (!session.resumption) return true;
  return std::ranges::all_of(session.resumption->parts, [&](const resume::Progress& part) {
    const auto facts = facts_from(part.identity);
    return facts && facts->is_comparable && facts->digest_class == digest_class;
  });
}

void fill_inputs(report::RunReport& report, const EvaluationSession& session, const Notes& notes) {
  const auto& info = session.data.set->info();
  report.coverage.total_samples = is_rescoring_units(session) ? info.num_units : info.num_samples;
  report.coverage.total_units = info.num_units > 0 ? info.num_units : info.num_samples;
  report.metrics.class_names = info.class_names;
  report.execution.batch_size = session.plan.grid->batch_size();
  report.execution.num_batches = session.plan.grid->num_batches();
  report.provenance.settings = session.config.settings;
  report.metrics.task = session.scoring.task_name;
  report.metrics.definitions = session.config.scoring.definitions;
  report.inputs.model = session.model.model;
  report.inputs.weights = session.model.weights;
  if (const auto& card = session.model.predictor->card()) report.inputs.model_source = card->source;
  report.inputs.data = session.data.file;
  report.inputs.data_samples = session.data.samples;
  report.inputs.recipes = session.execution.inputs->recipes;
  if (!session.config.reading.stage.empty()) report.inputs.staged_bytes = session.plan.staged_bytes;
  report.inputs.data_integrity = info.integrity();
  report.notes = session.model.notes;
  report.notes.insert(report.notes.end(), notes.all().begin(), notes.all().end());
}

}  // namespace

report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const GlobalResult& global,
                              const Phases& phases, const Notes& notes) {
  report::RunReport report;
  report.timing.phases = phases.over_ranks(comm);
  if (comm.is_root()) fill_inputs(report, session, notes);
  add_rank_timings(comm, session, local, phases, report);
  const auto classes = comm.gather(digest_class(session));
  report.metrics.results = global.results;
  diagnose_run(comm, session, local, report);
  // All collective calls are above. What follows is the business of rank 0.
  if (!comm.is_root()) return report;

  report.metrics.groups = global.groups;
  report.metrics.curves = global.curves;
  report.metrics.not_finite_indices = global.not_finite.first_indices;
  const auto expected = plan::expected_evidence({0, session.plan.grid->num_samples()});
  report.coverage.expected = {expected.count, expected.index_sum, expected.index_mix};
  report.digests.state = global.state_digest;
  report.metrics.counts = global.counts;
  report.digests.digest_class = classes[0];
  report.digests.inputs = inputs_digest(facts_of(session, {}));
  // Where ranks differ the digests depend on which rank computed which sample.
  report.digests.comparable = std::all_of(classes.begin(), classes.end(),
                                          [&](const auto& other) { return other == classes[0]; });
  report.execution.balance = session.plan.grid->balance(comm.world_size());
  report.execution.reduction = {std::string(session.reducer->name()),
                                session.config.execution.check_reduction};
  report.provenance.environment = environment_of(comm);
  for (auto& entry : backend_of(session)) report.provenance.environment.push_back(std::move(entry));
  report.provenance.environment.emplace_back(report::kModelForm, form_of(session));
  report.provenance.environment.emplace_back("read_threads",
                                             format("{}", session.plan.read_threads));
  for (auto& setting : device_settings(session))
    report.provenance.environment.push_back(std::move(setting));
  if (!all_parts_compare(session, classes[0])) {
    report.digests.comparable = false;
    report.notes.emplace_back(
        "a part of the samples was evaluated before the run was resumed, with another processor, "
        "other libraries or in another way: the digests are not comparable with other runs");
    log::warning(report.notes.back());
  } else if (!is_comparable(session)) {
    report.digests.comparable = false;
    for (auto& note : comparability_notes(session)) {  // of a watch, maybe of these weights alone
      if (std::ranges::find(report.notes, note) == report.notes.end()) {
        report.notes.push_back(std::move(note));
      }
    }
  } else if (!report.digests.comparable) {
    report.notes.emplace_back(
        "the ranks differ in what the digests depend on (processor, libraries or environment): "
        "the digests are not comparable with other runs");
    log::warning(report.notes.back());
  }
  return report;
}

}  // namespace tally::app
