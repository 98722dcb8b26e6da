#include <cstdio>
#include <filesystem>

#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>
#include <tally/publish/evaluate_session.hpp>
#include <tally/publish/plan_text.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>
#include <tally/session/tracing.hpp>
#include <tally/setup/open_session.hpp>
#include <tally/setup/staging.hpp>

#include "commands.hpp"

namespace tally::app {
namespace {

void print_result(const report::RunReport& report, const EvaluationSession& session) {
  std::fputs(report::to_table(report, session.output.folder).c_str(), stdout);
  std::error_code ignored;  // a trace that could not be written cost no result
  if (session.output.tracing && std::filesystem::exists(session.config.results.trace, ignored)) {
    std::fputs(format("Trace     {}\n", printable(session.config.results.trace)).c_str(), stdout);
  }
}

}  // namespace

int run_evaluate(const comm::Communicator& comm, EvaluateMode mode,
                 const std::vector<std::string>& arguments) {
  show_spans_to_profilers();
  Phases phases;
  phases.add("launch", process_age_s());
  const auto kind =
      mode == EvaluateMode::score ? config::RunKind::predictions : config::RunKind::model;
  Notes notes;
  EvaluationSession session = open_session(comm, kind, arguments, phases, notes);
  for (const auto& note : notes.all()) log::note(note);
  if (mode == EvaluateMode::check) {
    require_unchanged_data(comm, session);
    if (comm.is_root()) std::fputs(plan_text(session, comm.world_size()).c_str(), stdout);
    return 0;
  }
  if (!session.config.reading.stage.empty()) {
    stage_data(comm, session);
    phases.done("stage");
  }
  const auto report = evaluate_session(comm, session, phases, notes);
  if (report) print_result(*report, session);
  return 0;
}

}  // namespace tally::app
