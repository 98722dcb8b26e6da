#include "results.hpp"

#include <algorithm>
#include <sstream>

#include <tally/base/build_info.hpp>
#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/digest/digest.hpp>
#include <tally/plan/coverage.hpp>
#include <tally/predictions/writer.hpp>

#include "comparability.hpp"
#include "gather_columns.hpp"
#include "gather_text.hpp"
#include "provenance.hpp"
#include "rank_figures.hpp"
#include "reduction.hpp"
#include "scoring_attributes.hpp"

namespace tally::app {
namespace {

plan::CoverageEvidence expected_of(const EvaluationSession& session) {
  return plan::expected_evidence({0, session.plan.grid->num_samples()});
}

void check_coverage(const metrics::SeenIndices& seen, const plan::CoverageEvidence& expected,
                    std::string_view what) {
  const plan::CoverageEvidence evidence{seen.count, seen.index_sum, seen.index_mix};
  if (evidence == expected) return;
  throw Error(ErrorKind::internal,
              format("the {} were not evaluated exactly once (count {}, expected {}; index sum "
                     "{}, expected {}; index mix {:#x}, expected {:#x})",
                     what, evidence.count, expected.count, evidence.index_sum, expected.index_sum,
                     evidence.index_mix, expected.index_mix),
              "This is a defect of tally: please report it.");
}

void check_coverage(const EvaluationSession& session, const metrics::Results& found) {
  check_coverage(found.samples(), expected_of(session), "samples");
  if (!found.seen_samples) return;
  check_coverage({found.count, found.index_sum, found.index_mix},
                 plan::expected_evidence({0, session.scoring.num_units}), "units");
}

// Collective. Of all ranks, on rank 0: ranks have their samples in the order of the indices.
evaluate::NotFinite all_not_finite(const comm::Communicator& comm,
                                   const evaluate::NotFinite& local) {
  std::string text = format("{}", local.count);
  for (const std::int64_t index : local.first_indices) text += format(" {}", index);
  evaluate::NotFinite all;
  for (const std::string& of_rank : comm.gather(text)) {
    std::istringstream numbers(of_rank);
    std::int64_t count = 0;
    numbers >> count;
    all.count += count;
    for (std::int64_t index = 0; numbers >> index;) all.first_indices.push_back(index);
  }
  all.first_indices.resize(std::min(all.first_indices.size(), evaluate::NotFinite::kListed));
  return all;
}

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
  report.recipes = session.execution.routes->recipes;
  if (!session.config.reading.stage.empty()) report.staged_bytes = session.plan.staged_bytes;
  report.data_integrity = info.integrity();
  report.notes = session.model.notes;
  report.notes.insert(report.notes.end(), notes.all().begin(), notes.all().end());
}

}  // namespace

RunFigures merge_results(const comm::Communicator& comm, const EvaluationSession& session,
                         LocalUnits& local) {
  RunFigures figures;
  figures.not_finite = all_not_finite(comm, local.loop.findings.not_finite);
  comm::agree_on(comm, [&] {
    const bool failed = figures.not_finite.count > 0 && session.config.scoring.on_nan == "fail";
    if (failed) throw evaluate::numeric_error(figures.not_finite);
  });
  reduce(comm, session, local.state);
  local.state.canonicalise();
  comm::agree_on(comm, [&] {
    figures.results = session.scoring.task->finalize(local.state);
    check_coverage(session, figures.results);
  });
  return figures;
}

std::optional<SavedPredictions> gather_predictions(const comm::Communicator& comm,
                                                   const EvaluationSession& session,
                                                   const LocalUnits& local,
                                                   const std::filesystem::path& path) {
  if (local.log.columns().empty()) return std::nullopt;
  auto writer = gather_columns(comm, local.log, session.scoring.num_units,
                               session.config.results.gather_window_bytes, path);
  std::vector<std::filesystem::path> texts;
  const auto form =
      session.scoring.task->detections() != nullptr ? JsonForm::list : JsonForm::object;
  const auto num_texts = local.texts ? std::ssize(local.texts->columns()) : 0;
  for (std::int64_t column = 0; column < num_texts; ++column) {
    texts.push_back(path.parent_path() / local.texts->columns()[to_size(column)].name);
    gather_json(comm, form, *local.texts, column, session.config.results.gather_window_bytes,
                texts.back());
  }
  if (!writer) return std::nullopt;
  auto digest = writer->digest();
  return SavedPredictions{std::move(*writer), std::move(digest), std::move(texts)};
}

std::map<std::string, std::string> prediction_attributes(const EvaluationSession& session,
                                                         const std::string& digest) {
  std::map<std::string, std::string> attributes{
      {"tally_version", std::string(build_info().version)}, {"model", session.model.model.path},
      {"model_sha256", session.model.model.digest},         {"data", session.data.file.path},
      {"data_identity", session.data.file.digest},          {"digest", digest}};
  if (session.model.weights) attributes["weights_sha256"] = session.model.weights->digest();
  attributes.merge(scoring_attributes(session));
  return attributes;
}

report::RunReport make_report(const comm::Communicator& comm, const EvaluationSession& session,
                              const LocalUnits& local, const RunFigures& figures,
                              const Phases& phases, const Notes& notes) {
  report::RunReport report;
  report.phases = phases.over_ranks(comm);
  if (comm.is_root()) fill_inputs(report, session, notes);
  add_ranks(comm, session, local, phases, report);
  const auto classes = comm.gather(digest_class(session));
  if (!comm.is_root()) return report;

  report.results = figures.results;
  report.groups = figures.groups;
  report.curves = figures.curves;
  report.not_finite_indices = figures.not_finite.first_indices;
  const auto expected = expected_of(session);
  report.expected = {expected.count, expected.index_sum, expected.index_mix};
  report.state_digest = figures.state_digest;
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
