#include <cstdio>
#include <filesystem>

#include <tally/base/clock.hpp>
#include <tally/base/format.hpp>
#include <tally/base/log.hpp>
#include <tally/base/printable.hpp>

#include "commands.hpp"
#include "evaluation.hpp"
#include "job.hpp"
#include "staging.hpp"
#include "tracing.hpp"

namespace tally::app {
namespace {

void print_result(const report::RunReport& report, const Job& job) {
  std::fputs(report::to_table(report, job.output).c_str(), stdout);
  std::error_code ignored;  // a trace that could not be written cost no result
  if (job.tracing && std::filesystem::exists(job.config.trace, ignored)) {
    std::fputs(format("Trace     {}\n", printable(job.config.trace)).c_str(), stdout);
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
  Job job = prepare_job(comm, kind, arguments, phases);
  for (const auto& note : job.notes) log::note(note);
  if (mode == EvaluateMode::check) {
    require_unchanged_data(comm, job);
    if (comm.is_root()) std::fputs(plan_text(job, comm.world_size()).c_str(), stdout);
    return 0;
  }
  if (!job.config.stage.empty()) {
    stage_data(comm, job);
    phases.done("stage");
  }
  const auto report = evaluate_job(comm, job, phases);
  if (report) print_result(*report, job);
  return 0;
}

}  // namespace tally::app
