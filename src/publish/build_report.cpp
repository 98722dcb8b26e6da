#include "build_report.hpp"

#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/plan/coverage.hpp>
#include <tally/session/comparability.hpp>

#include "rank_timings.hpp"
#include "run_environment.hpp"

namespace tally::app {
namespace {

void fill_inputs(report::RunReport& report, const EvaluationSession& session, const Notes& notes) {
  const auto& info = session.data.set->info();
  report.total_samples = scores_units(session) ? info.num_units : info.num_samples;
  report.total_units = info.num_units > 0 ? info.num_units : info.num_samples;
  report.class_names = info.class_names;
  report.batch_size = session.plan.grid->batch_size();
  report.num_batches = session.plan.grid->num_batches();
  report.settings = session.config.settings;
  report.task = session.scoring.task_name;
  report.definitions = session.config.scoring.definitions;
  report.model = session.model.model;
  report.weights = session.model.weights;
  if (const auto& card = session.model.predictor->card()) report.model_source = card->source;
  report.data = session.data.file;
  report.recipes = session.execution.inputs->recipes;
  if (!session.config.reading.stage.empty()) report.staged_bytes = session.plan.staged_bytes;
  report.data_integrity = info.integrity();
  report.notes = session.model.notes;
  report.notes.insert(report.notes.end(), notes.all().begin(), notes.all().end());
}

}  // namespace

report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const GlobalResult& global,
                              const Phases& phases, const Notes& notes) {
  report::RunReport report;
  report.phases = phases.over_ranks(comm);
  if (comm.is_root()) fill_inputs(report, session, notes);
  add_rank_timings(comm, session, local, phases, report);
  const auto classes = comm.gather(digest_class(session));
  if (!comm.is_root()) return report;

  report.results = global.results;
  report.groups = global.groups;
  report.curves = global.curves;
  report.not_finite_indices = global.not_finite.first_indices;
  const auto expected = plan::expected_evidence({0, session.plan.grid->num_samples()});
  report.expected = {expected.count, expected.index_sum, expected.index_mix};
  report.state_digest = global.state_digest;
  report.digest_class = classes[0];
  report.comparable = std::all_of(classes.begin(), classes.end(),
                                  [&](const auto& other) { return other == classes[0]; });
  report.balance = session.plan.grid->balance(comm.world_size());
  report.reduction = {std::string(session.reducer->name()),
                      session.config.execution.check_reduction};
  report.environment = environment_of(comm);
  report.environment.emplace_back(report::kModelForm, form_of(session));
  report.environment.emplace_back("read_threads", format("{}", session.plan.read_threads));
  for (auto& fact : device_facts(session)) report.environment.push_back(std::move(fact));
  if (!is_comparable(session)) {
    report.comparable = false;
    for (auto& note : comparability_notes(session)) {  // of a watch, maybe of these weights alone
      if (std::ranges::find(report.notes, note) == report.notes.end()) {
        report.notes.push_back(std::move(note));
      }
    }
  } else if (!report.comparable) {
    report.notes.emplace_back(
        "the ranks differ in what the digests depend on (processor, libraries or environment): "
        "the digests are not comparable with other runs");
    log::warning(report.notes.back());
  }
  return report;
}

}  // namespace tally::app
