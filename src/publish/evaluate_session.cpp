// SPDX-License-Identifier: Apache-2.0
#include <tally/publish/evaluate_session.hpp>

#include <functional>
#include <optional>

#include <tally/aggregate/global_result.hpp>
#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/device/energy.hpp>
#include <tally/report/event_log.hpp>
#include <tally/report/metrics_file.hpp>
#include <tally/report/report_json.hpp>
#include <tally/result_folder/error_file.hpp>
#include <tally/result_folder/input_overwrite_check.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/resume/progress_files.hpp>
#include <tally/session/local_result.hpp>
#include <tally/session/session.hpp>
#include <tally/session/tracing.hpp>
#include <tally/trace/span_recording.hpp>
#include <tally/trace/trace_file.hpp>

#include "build_report.hpp"
#include "collective_loop.hpp"
#include "gather_predictions.hpp"

namespace tally::app {
namespace {

// With the files of a data set that has several.
std::vector<Input> all_inputs_of(const EvaluationSession& session) {
  auto inputs = inputs_of(session.config);
  for (const auto& shard : session.data.set->info().shards) {
    inputs.push_back({"data", shard.path});
  }
  return inputs;
}

// Holds what only rank 0 has while a run goes on.
struct RootSide {
  // In this order: the files are closed before the folder, which is destroyed last, removes what is
  // unfinished.
  OutputFolder folder;
  std::optional<report::EventLog> events;
  std::optional<trace::TraceFile> trace;

  explicit RootSide(const EvaluationSession& session)
      : folder(session.output.folder, {session.output.overwrite, session.output.resume},
               session.config.results.trace, all_inputs_of(session)) {
    folder.create();
    require_same_progress(session);
    events.emplace(folder.events());
    if (session.output.tracing) trace.emplace(folder.trace());
  }

  // From now on nobody else writes there.
  void require_same_progress(const EvaluationSession& session) const {
    const auto& found = session.output.parts;
    if (!session.output.resume || resume::list_parts(folder.progress()) == found) return;
    throw Error(ErrorKind::output,
                format("the progress in '{}' changed since this run began",
                       printable(folder.path().string())),
                "Another run was at work there: run the command again.");
  }

  // A trace that cannot be written after the loop costs no result: a note says so.
  void drop_trace(const Error& why, report::RunReport& report) {
    trace.reset();
    folder.drop_trace();
    report.notes.push_back(format("there is no trace: {}", why.what()));
    log::note(report.notes.back());
  }
};

// Collective. Brings what happened until now to rank 0.
void gather_trace(const comm::Communicator& comm, const EvaluationSession& session, Phases& phases,
                  RootSide* root, report::RunReport& report) {
  phases.lap("report");
  const auto failure =
      session.output.tracing->gather(comm, phases, session.config.results.gather_window_bytes,
                                     root != nullptr ? &*root->trace : nullptr);
  if (failure) root->drop_trace(*failure, report);
  if (failure) return;
  if (session.output.tracing->num_dropped() == 0) return;
  report.notes.push_back(format("the trace lacks {} spans, for which there was no room",
                                session.output.tracing->num_dropped()));
  log::note(report.notes.back());
}

void try_for_trace(RootSide& root, report::RunReport& report, const std::function<void()>& step) {
  if (!root.trace) return;
  try {
    step();
  } catch (...) {
    root.drop_trace(current_error(), report);
  }
}

// Writes everything but the report, synced at its partial_path(), and returns the final names.
std::vector<std::filesystem::path> write_files(const EvaluationSession& session,
                                               report::RunReport& report,
                                               std::optional<SavedPredictions> predictions,
                                               const OutputFolder& folder) {
  std::vector<std::filesystem::path> files;
  if (predictions) {
    const trace::Span span(trace::Kind::step, "write_predictions");
    report.digests.predictions = predictions->digest;
    // The digest of the rows is an attribute of their file, and so comes before its end.
    predictions->writer.finish(prediction_attributes(session, predictions->digest));
    files = predictions->texts;
    for (const auto& text : files) report.text_files.push_back(text.filename().string());
    files.push_back(folder.predictions());
  }
  const trace::Span span(trace::Kind::step, "write_metrics");
  report::write_metrics_file(report, partial_path(folder.metrics()));
  files.push_back(folder.metrics());
  return files;
}

// The report has its name by now and cannot take a note any more, so that only the terminal gets
// one.
void publish_trace(RootSide& root) {
  try {
    root.folder.publish_trace();
  } catch (const Error& error) {
    root.folder.drop_trace();
    log::note(format("there is no trace: {}", error.what()));
  }
}

// Nothing gets its name, and nothing of an earlier result goes, before all of it is on the disk.
void publish(const EvaluationSession& session, report::RunReport& report,
             std::optional<SavedPredictions> predictions, Phases& phases,
             const Stopwatch& publishing, RootSide& root) {
  auto files = write_files(session, report, std::move(predictions), root.folder);
  // The report has the times of earlier phases, which ranks gathered; this one is in the trace
  // alone.
  phases.lap("publish");
  // The trace is finished before the report is written, which has a note where that fails.
  try_for_trace(root, report, [&] {
    root.folder.check_trace();
    session.output.tracing->finish(phases, *root.trace);
  });
  report.timing.wall_s = process_age_s() - session.output.began_s;
  report.timing.publish_s = publishing.elapsed_s();
  PartialFile text(root.folder.report());
  text.append(report::to_json(report));
  text.finish();
  files.push_back(root.folder.report());
  root.folder.publish(files, [&] { root.events->finished("complete"); });
  if (root.trace) publish_trace(root);
}

}  // namespace

void require_unchanged_data(const comm::Communicator& comm, const EvaluationSession& session) {
  comm::agree_on(comm, [&] {
    session.data.set->require_unchanged();
    session.source->require_unchanged();
  });
}

std::optional<report::RunReport> evaluate_session(const comm::Communicator& comm,
                                                  const EvaluationSession& session, Phases& phases,
                                                  Notes& notes) {
  std::optional<RootSide> root;
  // A launcher kills the whole job once a rank is gone: the other ranks outlive a signal for as
  // long as rank 0 needs to remove the incomplete result.
  if (!comm.is_root()) wait_on_interrupt();
  comm::agree_on(comm, [&] {
    if (comm.is_root()) root.emplace(session);
  });
  own_error_file();
  RootSide* const on_root = root ? &*root : nullptr;
  const device::EnergyMeter energy(session.hardware.device);
  const double startup_s = process_age_s() - session.output.began_s;
  phases.lap("create_output");
  auto samples = loop_on_all_ranks(comm, session, on_root != nullptr ? &*root->events : nullptr,
                                   phases, notes);
  // The barrier makes waiting for slower ranks a phase of its own. Without it the time would be
  // counted as that of the next collective call.
  comm.barrier();
  // Others may compute on the same GPU until here.
  samples.loop.energy_j = energy.joules();
  phases.lap("wait_for_ranks");
  auto local = session.source->complete(comm, session, std::move(samples));
  const auto& task = *session.scoring.task;
  if (task.capabilities().has_units() || task.capabilities().detections != nullptr)
    phases.lap("match");
  auto global = merge_results(comm, session, local);
  phases.lap("reduce");
  compute_post_loop_metrics(comm, session, local, global);
  phases.lap("count_again");
  if (on_root != nullptr) on_root->events->phase("gather");
  auto predictions = gather_predictions(comm, session, local,
                                        on_root != nullptr ? on_root->folder.predictions() : "");
  phases.lap("gather");
  const Stopwatch publishing;
  auto ids_matched = session.source->match_ids(comm, session, notes);
  // This comes behind the last read of the data set, and before any file gets its name.
  require_unchanged_data(comm, session);
  auto report = make_report(comm, session, local, global, phases, notes);
  report.timing.startup_s = startup_s;
  report.coverage.ids = std::move(ids_matched);
  // This is the last collective call; publishing is the work of rank 0 alone.
  if (session.output.tracing) gather_trace(comm, session, phases, on_root, report);
  if (on_root == nullptr) return std::nullopt;
  publish(session, report, std::move(predictions), phases, publishing, *on_root);
  return report;
}

}  // namespace tally::app
