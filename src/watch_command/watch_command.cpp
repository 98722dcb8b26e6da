// SPDX-License-Identifier: Apache-2.0
#include <tally/watch_command/watch_command.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tally/base/clock.hpp>
#include <tally/base/console.hpp>
#include <tally/base/error.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/publish/evaluate_session.hpp>
#include <tally/session/session.hpp>
#include <tally/session/tracing.hpp>
#include <tally/setup/open_session.hpp>
#include <tally/setup/staging.hpp>
#include <tally/setup/warm_up.hpp>

#include "watch_coordinator.hpp"

namespace tally::app {
namespace {

// Collective. What rank 0 finds to do, on every rank; the others sleep until then.
WatchStep agree_on_next(const comm::Communicator& comm, std::optional<WatchCoordinator>& root) {
  std::optional<Error> failure;
  auto step = WatchStep::poll_later;
  if (root) {
    try {
      step = root->next();
    } catch (...) {
      failure = current_error();
    }
  }
  // Until rank 0 has something to do, the others sleep here; agree() would wait with a busy core.
  comm.wait_for_root();
  comm::agree(comm, failure);
  step = static_cast<WatchStep>(comm.broadcast(std::string(1, static_cast<char>(step))).front());
  // An end for good needs no resuming, even if a signal has come. Otherwise a signal that reached
  // any rank ends the watch on all: the launcher may not have sent it to each.
  if (step == WatchStep::end) return step;
  return comm.max(std::int64_t{asked_to_stop()}) != 0 ? WatchStep::end_resumable : step;
}

// Collective. Whether `step` was done. A failure of this kind concerns its checkpoint alone: it is
// not printed, rank 0 records it.
bool attempt(const comm::Communicator& comm, ErrorKind kind, std::optional<WatchCoordinator>& root,
             const std::function<void()>& step) {
  try {
    const comm::SuppressedFailures suppressed(kind);
    step();
    return true;
  } catch (const comm::AgreedFailure& failure) {
    if (failure.kind != kind) throw;
    comm::agree_on(comm, [&] {
      if (root) root->failed(kind, failure.suppressed_message);
    });
    return false;
  }
}

// Collective. The checkpoint that rank 0 has opened: one that cannot be evaluated costs no more
// than itself.
void evaluate_checkpoint(const comm::Communicator& comm, EvaluationSession& session,
                         std::optional<WatchCoordinator>& root, Notes& notes, bool& notes_logged) {
  Phases phases;
  const double began_s = process_age_s();
  // Only rank 0 has read the directory of the checkpoint; the other ranks get it as bytes.
  std::vector<std::byte> bytes;
  if (root) bytes = weights::to_bytes(root->opened());
  comm.broadcast(bytes);
  session.output.begin(began_s, comm.broadcast(root ? root->result_folder() : std::string()));
  std::vector<std::string> of_weights;
  const auto load = [&] {
    of_weights = take_weights(comm, session, weights::checkpoint_from_bytes(bytes));
  };
  if (!attempt(comm, ErrorKind::model, root, load)) return;
  // All ranks have read the tensors by now. If training wrote them anew meanwhile, they may be a
  // mixture. Only rank 0 knows, hence the maximum.
  bool is_whole = true;
  comm::agree_on(comm, [&] { is_whole = !root || root->was_read_whole(); });
  if (comm.max(std::int64_t{!is_whole}) != 0) return;
  for (const auto& note : of_weights) {
    if (!notes_logged) log::note(note);  // the next ones are chosen alike
  }
  notes_logged = true;
  if (!attempt(comm, ErrorKind::model, root, [&] { build_predictor(comm, session, notes); }))
    return;
  phases.lap("load_weights");
  std::optional<report::RunReport> report;
  const auto evaluate = [&] { report = evaluate_session(comm, session, phases, notes); };
  try {
    if (!attempt(comm, ErrorKind::numeric, root, evaluate)) return;
  } catch (const StopRequested&) {
    return;
  }
  comm::agree_on(comm, [&] {
    if (root) root->evaluated(*report);
  });
}

}  // namespace

int run_watch(const comm::Communicator& comm, const std::vector<std::string>& arguments) {
  show_spans_to_profilers();
  const StopOnInterrupt asks;
  Phases phases;
  Notes notes;
  EvaluationSession session =
      open_session(comm, config::RunKind::checkpoints, arguments, phases, notes);
  for (const auto& note : notes.all()) log::note(note);
  std::optional<WatchCoordinator> root;
  comm::agree_on(comm, [&] {
    if (comm.is_root()) root.emplace(session);
  });
  // What the coordinator refuses is refused before anything is copied.
  if (!session.config.reading.stage.empty()) stage_data(comm, session);
  for (bool notes_logged = false;;) {
    const auto step = agree_on_next(comm, root);
    if (step == WatchStep::poll_later) continue;
    if (step == WatchStep::evaluate) {
      evaluate_checkpoint(comm, session, root, notes, notes_logged);
      continue;
    }
    const bool is_resumable = step == WatchStep::end_resumable;
    comm::agree_on(comm, [&] {
      if (root) root->finish(is_resumable);
      if (!is_resumable) console::require_written("The results of the watch are complete.");
    });
    return is_resumable ? kResumableExitCode : 0;
  }
}

}  // namespace tally::app
