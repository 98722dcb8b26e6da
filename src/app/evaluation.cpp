#include "evaluation.hpp"

#include <functional>
#include <optional>

#include <tally/base/clock.hpp>
#include <tally/base/error.hpp>
#include <tally/base/files.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/device/energy.hpp>
#include <tally/report/progress.hpp>
#include <tally/report/run_report.hpp>
#include <tally/trace/span.hpp>
#include <tally/trace/trace_file.hpp>

#include "detections.hpp"
#include "interrupt.hpp"
#include "local_result.hpp"
#include "naming_model.hpp"
#include "output_folder.hpp"
#include "results.hpp"
#include "score_texts.hpp"
#include "score_units.hpp"
#include "session.hpp"
#include "tracing.hpp"
#include "units.hpp"
#include "watcher.hpp"

namespace tally::app {
namespace {

// Ends the loop after a batch where somebody asked for that.
class StoppableObserver : public evaluate::Observer {
 public:
  explicit StoppableObserver(evaluate::Observer& inner) : inner_(inner) {}
  void batch_done(std::int64_t samples_done, const exact::State& state) override {
    inner_.batch_done(samples_done, state);
    if (asked_to_stop()) throw StopRequested{};
  }

 private:
  evaluate::Observer& inner_;
};

// What only rank 0 has while a run goes on.
struct RootSide {
  OutputFolder folder;
  std::optional<report::EventLog> events;
  std::optional<trace::TraceFile> trace;

  explicit RootSide(const EvaluationSession& session)
      : folder(session.output.folder, session.config.overwrite, session.config.trace,
               inputs_of(session.config)) {
    folder.create();
    events.emplace(folder.events());
    if (session.output.tracing) trace.emplace(folder.trace());
  }

  // After the loop a trace that cannot be written costs no result.
  void drop_trace(const Error& why, report::RunReport& report) {
    trace.reset();
    folder.drop_trace();
    report.notes.push_back(format("there is no trace: {}", why.what()));
    log::note(report.notes.back());
  }
};

LocalResult run(EvaluationSession& session, evaluate::Observer& observer, IdsFound& ids) {
  if (session.saved.texts) return score_texts(session, observer, ids);
  if (session.saved.units) return score_units(session, observer);
  if (session.saved.detections) return pass_over_images(session, observer);
  std::optional<LocalResult> result;
  naming_model(session, [&] { result.emplace(run_loop(session, observer)); });
  return std::move(*result);
}

LocalResult loop_with_progress(EvaluationSession& session, RootSide* root, IdsFound& ids) {
  if (root == nullptr) {
    SilentObserver silent;
    StoppableObserver stoppable(silent);
    return run(session, stoppable, ids);
  }
  const auto own_samples = session.plan.grid->samples_of(session.plan.slice).count;
  Watcher watcher(report::progress_style_from_name(session.config.progress), *root->events,
                  *session.scoring.task, own_samples, session.plan.grid->num_samples());
  StoppableObserver stoppable(watcher);
  auto result = run(session, stoppable, ids);
  watcher.finish();
  return result;
}

// Collective. The loop of every rank. A watch outlives what ends in it: StopRequested on all ranks,
// or AgreedFailure where outputs are not finite.
LocalResult loop_on_all(const comm::Communicator& comm, EvaluationSession& session, RootSide* root,
                        IdsFound& ids) {
  if (!session.is_watch()) return loop_with_progress(session, root, ids);
  std::optional<LocalResult> result;
  std::optional<Error> failure;
  try {
    result.emplace(loop_with_progress(session, root, ids));
  } catch (const StopRequested&) {
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    failure = error;
  }
  const bool stopped = !result && !failure;
  if (comm.max(std::int64_t{stopped}) != 0) throw StopRequested{};
  comm::agree(comm, failure);
  return std::move(*result);
}

// Collective. What happened until now goes to rank 0.
void gather_trace(const comm::Communicator& comm, EvaluationSession& session, Phases& phases,
                  RootSide* root, report::RunReport& report) {
  phases.done("report");
  const auto failure = session.output.tracing->gather(
      comm, phases, session.config.gather_window_bytes, root != nullptr ? &*root->trace : nullptr);
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

// Everything but the report, synced at its partial_path().
std::vector<std::filesystem::path> write_files(EvaluationSession& session,
                                               report::RunReport& report,
                                               std::optional<SavedPredictions> predictions,
                                               const OutputFolder& folder) {
  std::vector<std::filesystem::path> files;
  if (predictions) {
    const trace::Span span(trace::Kind::step, "write_predictions");
    report.predictions_digest = predictions->digest;
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

void publish_trace(RootSide& root) {
  try {
    root.folder.publish_trace();
  } catch (const Error& error) {
    root.folder.drop_trace();
    log::note(format("there is no trace: {}", error.what()));
  }
}

// Nothing gets its name, and nothing of an earlier result goes, before all of it is on the disk.
void publish(EvaluationSession& session, report::RunReport& report,
             std::optional<SavedPredictions> predictions, Phases& phases,
             const Stopwatch& publishing, RootSide& root) {
  auto files = write_files(session, report, std::move(predictions), root.folder);
  phases.done("publish");
  try_for_trace(root, report, [&] {
    root.folder.check_trace();
    session.output.tracing->finish(phases, *root.trace);
  });
  report.wall_s = process_age_s() - session.output.began_s;
  report.publish_s = publishing.elapsed_s();
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
    if (session.saved.units) session.saved.units->reader().require_unchanged();
  });
}

std::optional<report::RunReport> evaluate_session(const comm::Communicator& comm,
                                                  EvaluationSession& session, Phases& phases) {
  std::optional<RootSide> root;
  if (!comm.is_root()) wait_on_interrupt();
  comm::agree_on(comm, [&] {
    if (comm.is_root()) root.emplace(session);
  });
  RootSide* const local = root ? &*root : nullptr;
  const device::EnergyMeter energy(session.hardware.device);
  const double startup_s = process_age_s() - session.output.began_s;
  phases.done("create_output");
  if (local != nullptr) local->events->phase("evaluate");
  IdsFound ids;
  auto loop = loop_on_all(comm, session, local, ids);
  phases.done("evaluate");
  comm.barrier();
  // Others may compute on the same GPU until here.
  loop.loop.energy_j = energy.joules();
  phases.done("wait_for_ranks");
  join_units(comm, session, loop);
  match_detections(comm, session, loop);
  if (session.scoring.task->has_units() || session.scoring.task->detections() != nullptr)
    phases.done("match");
  auto figures = merge_results(comm, session, loop);
  phases.done("reduce");
  add_figures_of_kept(comm, session, loop, figures);
  phases.done("count_again");
  if (local != nullptr) local->events->phase("gather");
  auto predictions =
      gather_predictions(comm, session, loop, local != nullptr ? local->folder.predictions() : "");
  phases.done("gather");
  std::optional<report::IdMatch> ids_matched;
  if (session.saved.texts) ids_matched = match_ids(comm, session, ids);
  if (session.saved.detections) ids_matched = session.saved.detections->ids;
  require_unchanged_data(comm, session);
  const Stopwatch publishing;
  auto report = make_report(comm, session, loop, figures, phases);
  report.startup_s = startup_s;
  report.ids = std::move(ids_matched);
  if (session.output.tracing) gather_trace(comm, session, phases, local, report);
  if (local == nullptr) return std::nullopt;
  publish(session, report, std::move(predictions), phases, publishing, *local);
  return report;
}

}  // namespace tally::app
