// SPDX-License-Identifier: Apache-2.0
#include "collective_loop.hpp"

#include <csignal>
#include <string>
#include <utility>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/notices.hpp>
#include <tally/report/progress.hpp>

#include "progress_keeper.hpp"
#include "progress_observer.hpp"
#include "run_provenance.hpp"

namespace tally::app {
namespace {

// Ends the loop of a watch after a batch where a signal asked for that.
class StoppableObserver : public LoopObserver {
 public:
  explicit StoppableObserver(LoopObserver& inner) : inner_(inner) {}
  void batch_done(std::int64_t samples_done, const exact::State& state) override {
    inner_.batch_done(samples_done, state);
    if (asked_to_stop()) throw StopRequested{};
  }

 private:
  LoopObserver& inner_;
};

std::int64_t missing_samples(const EvaluationSession& session) {
  std::int64_t samples = 0;
  for (const auto& segment : session.plan.segments) {
    if (!segment.part) samples += session.plan.grid->samples_of(segment.batches).count;
  }
  return samples;
}

// What rank 0 shows; the others stay silent.
class Display {
 public:
  Display(const EvaluationSession& session, report::EventLog* events) {
    if (events == nullptr) return;
    const auto done = session.resumption ? session.resumption->num_samples : 0;
    progress_.emplace(report::progress_style_from_name(session.config.results.progress), *events,
                      *session.scoring.task, missing_samples(session),
                      session.plan.grid->num_samples() - done, done);
  }
  LoopObserver& observer() { return progress_ ? static_cast<LoopObserver&>(*progress_) : silent_; }
  void finish() {
    if (progress_) progress_->finish();
  }

 private:
  SilentObserver silent_;
  std::optional<ProgressObserver> progress_;
};

LocalSamples plain_loop(const EvaluationSession& session, report::EventLog* events) {
  Display display(session, events);
  auto samples = session.source->score(session, display.observer());
  display.finish();
  return samples;
}

// Collective. A watch outlives what ends in it: it gets StopRequested on all ranks, or
// AgreedFailure where outputs are not finite.
LocalSamples loop_of_watch(const comm::Communicator& comm, const EvaluationSession& session,
                           report::EventLog* events) {
  std::optional<LocalSamples> result;
  std::optional<Error> failure;
  try {
    Display display(session, events);
    StoppableObserver stoppable(display.observer());
    result.emplace(session.source->score(session, stoppable));
    display.finish();
  } catch (const StopRequested&) {
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) throw;
    failure = error;
  }
  // Every rank comes here, also one that ended early, so that the ranks can agree on how to go on.
  const bool stopped = !result && !failure;
  if (comm.max(std::int64_t{stopped}) != 0) throw StopRequested{};
  comm::agree(comm, failure);
  return std::move(*result);
}

// Collective. Waits until the loops of all ranks have ended, and returns whether one was stopped. A
// rank that waits still listens to signals, and to a peer that fails.
bool any_stopped(const comm::Communicator& comm, bool is_stopped) {
  const auto found = comm.max_or_abandon(std::int64_t{is_stopped}, [&] {
    if (comm::has_notice(comm, comm::Notice::failed)) return true;
    if (asked_to_stop()) comm::send_notice(comm, comm::Notice::stop);
    return false;
  });
  if (!found) throw comm::PeerFailed{};
  const bool any = comm.max(*found != 0 || asked_to_stop() ? 1 : 0) != 0;
  comm::settle_notices(comm);
  return any;
}

// Collective. One note for all ranks that could keep nothing.
void note_failures(const comm::Communicator& comm, const ProgressKeeper& keeper, Notes& notes) {
  std::int64_t count = 0;
  std::string first;
  for (const auto& text :
       comm.gather(keeper.failure() ? std::string(keeper.failure()->what()) : std::string())) {
    if (text.empty()) continue;
    if (count++ == 0) first = text;
  }
  if (count == 0) return;
  auto note =
      format("progress could not be kept on {} of {} ranks: {}", count, comm.world_size(), first);
  log::warning(note);
  notes.add(std::move(note));
}

std::string stopped_note(const EvaluationSession& session, std::int64_t done) {
  if (done == 0) return "stopped before any samples were complete: nothing is kept";
  return format("stopped: {} of {} samples are kept in '{}'; --output {} --resume{} goes on", done,
                session.plan.grid->num_samples(), printable(progress_folder(session).string()),
                printable(session.output.folder),
                session.config.files.overwrite ? ", without --overwrite," : "");
}

// Collective. Says what is kept, and what to do.
[[noreturn]] void stop_all(const comm::Communicator& comm, const EvaluationSession& session,
                           report::EventLog* events, const ProgressKeeper& keeper) {
  // Ranks must not leave before all have kept what they did.
  comm::agree(comm, keeper.failure());
  std::vector<std::int64_t> done{keeper.num_samples()};
  comm.sum_in_place(done);
  if (session.resumption) done[0] += session.resumption->num_samples;
  if (events != nullptr) events->finished("stopped");
  log::note(stopped_note(session, done[0]));
  throw StopRequested{};
}

void announce_loop(report::EventLog* events) {
  if (events != nullptr) events->phase("evaluate");
}

// Collective.
LocalSamples resumable_loop(const comm::Communicator& comm, const EvaluationSession& session,
                            report::EventLog* events, Phases& phases, Notes& notes) {
  std::optional<StopOnInterrupt> asks(std::in_place);
  Display display(session, events);
  const auto facts = facts_of(session, digest_class(session));
  ProgressKeeper keeper(comm, session, facts, display.observer());
  // A signal to all ranks must not end one of them that is not here yet.
  comm.barrier();
  announce_loop(events);
  std::optional<LocalSamples> result;
  try {
    result.emplace(session.source->score(session, keeper));
    display.finish();
  } catch (const StopRequested&) {
  }
  phases.lap("evaluate");
  const bool stops = any_stopped(comm, !result);
  asks.reset();
  // A signal that came after the ranks had agreed does what it does outside of the loop.
  if (!stops && asked_to_stop()) std::raise(SIGTERM);
  if (result) keeper.keep_all(*result, stops);
  if (stops) stop_all(comm, session, events, keeper);
  note_failures(comm, keeper, notes);
  return std::move(*result);
}

}  // namespace

LocalSamples loop_on_all_ranks(const comm::Communicator& comm, const EvaluationSession& session,
                               report::EventLog* events, Phases& phases, Notes& notes) {
  const bool is_resumable = !session.is_watch() && session.source->can_resume();
  if (is_resumable) return resumable_loop(comm, session, events, phases, notes);
  announce_loop(events);
  auto samples =
      session.is_watch() ? loop_of_watch(comm, session, events) : plain_loop(session, events);
  phases.lap("evaluate");
  return samples;
}

}  // namespace tally::app
