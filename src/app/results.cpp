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
#include "saved_predictions.hpp"
#include "scoring_attributes.hpp"

namespace tally::app {
namespace {

plan::CoverageEvidence expected_of(const Job& job) {
  return plan::expected_evidence({0, job.grid->num_samples()});
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

void check_coverage(const Job& job, const metrics::Results& found) {
  check_coverage(found.samples(), expected_of(job), "samples");
  if (!found.seen_samples) return;
  check_coverage({found.count, found.index_sum, found.index_mix},
                 plan::expected_evidence({0, job.num_units}), "units");
}

// Collective. Of all ranks, on rank 0: ranks have their samples in the order of the indices.
evaluate::NotFinite all_not_finite(const comm::Communicator& comm,
                                   const evaluate::NotFinite& mine) {
  std::string text = format("{}", mine.count);
  for (const std::int64_t index : mine.first_indices) text += format(" {}", index);
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

void fill_inputs(report::RunReport& report, const Job& job) {
  const auto& info = job.data.set->info();
  report.total_samples = scores_units(job) ? info.num_units : info.num_samples;
  report.total_units = info.num_units > 0 ? info.num_units : info.num_samples;
  report.class_names = info.class_names;
  report.batch_size = job.grid->batch_size();
  report.num_batches = job.grid->num_batches();
  report.settings = job.config.settings;
  report.task = job.task_name;
  report.definitions = job.config.definitions;
  report.model = job.model.model;
  report.weights = job.model.weights;
  if (const auto& card = job.model.predictor->card()) report.model_source = card->source;
  report.data = job.data.file;
  report.recipes = job.routes.recipes;
  if (!job.config.stage.empty()) report.staged_bytes = job.staged_bytes;
  report.data_integrity = info.integrity();
  report.notes = job.model.notes;
  report.notes.insert(report.notes.end(), job.notes.begin(), job.notes.end());
}

}  // namespace

RunFigures merge_results(const comm::Communicator& comm, const Job& job, LoopResult& mine) {
  RunFigures figures;
  figures.not_finite = all_not_finite(comm, mine.findings.not_finite);
  comm::agree_on(comm, [&] {
    const bool failed = figures.not_finite.count > 0 && job.config.on_nan == "fail";
    if (failed) throw evaluate::numeric_error(figures.not_finite);
  });
  reduce(comm, job, mine.state);
  mine.state.canonicalise();
  comm::agree_on(comm, [&] {
    figures.results = job.task->finalize(mine.state);
    check_coverage(job, figures.results);
  });
  return figures;
}

std::optional<SavedPredictions> gather_predictions(const comm::Communicator& comm, const Job& job,
                                                   const LoopResult& mine,
                                                   const std::filesystem::path& path) {
  if (mine.log.columns().empty()) return std::nullopt;
  auto writer = gather_columns(comm, mine.log, job.num_units, job.config.gather_window_bytes, path);
  std::vector<std::filesystem::path> texts;
  const auto form = job.task->detections() != nullptr ? JsonForm::list : JsonForm::object;
  const auto num_texts = mine.texts ? std::ssize(mine.texts->columns()) : 0;
  for (std::int64_t column = 0; column < num_texts; ++column) {
    texts.push_back(path.parent_path() / mine.texts->columns()[to_size(column)].name);
    gather_json(comm, form, *mine.texts, column, job.config.gather_window_bytes, texts.back());
  }
  if (!writer) return std::nullopt;
  auto digest = writer->digest();
  return SavedPredictions{std::move(*writer), std::move(digest), std::move(texts)};
}

std::map<std::string, std::string> prediction_attributes(const Job& job,
                                                         const std::string& digest) {
  std::map<std::string, std::string> attributes{
      {"tally_version", std::string(build_info().version)},
      {"model", job.model.model.path},
      {"model_sha256", job.model.model.digest},
      {"data", job.data.file.path},
      {"data_identity", job.data.file.digest},
      {"digest", digest}};
  if (job.model.weights) attributes["weights_sha256"] = job.model.weights->digest();
  attributes.merge(scoring_attributes(job));
  return attributes;
}

report::RunReport make_report(const comm::Communicator& comm, const Job& job,
                              const LoopResult& mine, const RunFigures& figures,
                              const Phases& phases) {
  report::RunReport report;
  report.phases = phases.over_ranks(comm);
  if (comm.is_root()) fill_inputs(report, job);
  add_ranks(comm, job, mine, phases, report);
  const auto classes = comm.gather(digest_class(job));
  if (!comm.is_root()) return report;

  report.results = figures.results;
  report.groups = figures.groups;
  report.curves = figures.curves;
  report.not_finite_indices = figures.not_finite.first_indices;
  const auto expected = expected_of(job);
  report.expected = {expected.count, expected.index_sum, expected.index_mix};
  report.state_digest = figures.state_digest;
  report.digest_class = classes[0];
  report.comparable = std::all_of(classes.begin(), classes.end(),
                                  [&](const auto& other) { return other == classes[0]; });
  report.balance = job.grid->balance(comm.world_size());
  report.reduction = {std::string(job.reducer->name()), job.config.check_reduction};
  report.environment = environment_of(comm);
  report.environment.emplace_back(report::kModelForm, form_of(job));
  report.environment.emplace_back("read_threads", format("{}", job.read_threads));
  for (auto& fact : device_facts(job)) report.environment.push_back(std::move(fact));
  if (!is_comparable(job)) {
    report.comparable = false;
    for (auto& note : comparability_notes(job)) {  // of a watch, maybe of these weights alone
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
