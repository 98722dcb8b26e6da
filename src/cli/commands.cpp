// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include <tally/base/clock.hpp>
#include <tally/base/console.hpp>
#include <tally/base/error.hpp>
#include <tally/base/fatal_signals.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host_and_libraries.hpp>
#include <tally/base/interrupt.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/comm/notices.hpp>
#include <tally/comm/shared_memory_check.hpp>
#include <tally/compare/comparison_file.hpp>
#include <tally/compare/comparison_json.hpp>
#include <tally/compare/comparison_text.hpp>
#include <tally/config/compare_options.hpp>
#include <tally/hdf5/file_probe.hpp>
#include <tally/inspect/inspect_command.hpp>
#include <tally/inspect/names_of_samples.hpp>
#include <tally/model/amx_probe.hpp>
#include <tally/publish/evaluate_session.hpp>
#include <tally/publish/plan_text.hpp>
#include <tally/report/console_table.hpp>
#include <tally/result_folder/error_file.hpp>
#include <tally/result_folder/output_folder.hpp>
#include <tally/session/notes.hpp>
#include <tally/session/phases.hpp>
#include <tally/session/session.hpp>
#include <tally/session/tracing.hpp>
#include <tally/setup/open_session.hpp>
#include <tally/setup/staging.hpp>
#include <tally/watch_command/watch_command.hpp>
#include <tally/watchdog/watchdog.hpp>

#include "command_help.hpp"

namespace tally::app {

namespace {

// Of the samples that are listed. Both data sets hold the same samples, and one may be gone.
std::map<std::int64_t, std::string> names_of_changed(const compare::Comparison& comparison) {
  const auto indices = compare::listed_indices(comparison.changes);
  auto names = names_of_samples(comparison.a.data, comparison.a.data_identity, indices);
  if (!names.empty()) return names;
  return names_of_samples(comparison.b.data, comparison.b.data_identity, indices);
}

}  // namespace

void run_compare(const std::vector<std::string>& arguments) {
  const config::CompareConfig config = config::parse_compare_options(arguments);
  const bool writes_file = !config.json.empty() && config.json != "-";
  if (writes_file) compare::check_comparison_path(config.json, config.overwrite);
  // A run that was killed while it replaced a result may have left the earlier one set aside.
  for (const auto& result : {config.a, config.b}) {
    mend_interrupted(result);
    refuse_incomplete(result);
  }
  compare::Comparison comparison = compare::compare_runs(config.a, config.b,
                                                         {.metrics = config.metrics,
                                                          .replicates = config.bootstrap_replicas,
                                                          .seed = config.seed,
                                                          .most_changes = config.changed});
  comparison.samples.names = names_of_changed(comparison);
  if (config.json == "-") return console::print_json(compare::to_json(comparison));
  if (writes_file) {
    compare::write_comparison(config.json, compare::to_json(comparison), config.overwrite);
  }
  for (const std::string& line : compare::to_lines(comparison)) console::print_line(line);
}

namespace {

constexpr std::string_view kResultIsThere = "The result itself is complete.";

void print_result(const report::RunReport& report, const EvaluationSession& session) {
  console::print(report::to_table(report, session.output.folder));
  std::error_code ignored;  // a trace that could not be written cost no result
  if (session.output.tracing && std::filesystem::exists(session.config.results.trace, ignored)) {
    console::print_line(format("Trace     {}", session.config.results.trace));
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
  // A plan must not be printed for data that has changed since the files were opened.
  if (mode == EvaluateMode::check) {
    require_unchanged_data(comm, session);
    comm::agree_on(comm, [&] {
      if (comm.is_root()) console::print(plan_text(session, comm.world_size()));
      console::require_written();
    });
    return 0;
  }
  if (session.output.is_complete) {
    if (comm.is_root()) remove_remains(session.output.folder);
    log::note(format("'{}' holds the complete result already: there is nothing to do",
                     session.output.folder));
    return 0;
  }
  if (!session.config.reading.stage.empty()) {
    stage_data(comm, session);
    phases.lap("stage");
  }
  std::optional<report::RunReport> report;
  try {
    report = evaluate_session(comm, session, phases, notes);
  } catch (const StopRequested&) {
    return kResumableExitCode;
  }
  comm::agree_on(comm, [&] {
    if (report) print_result(*report, session);
    console::require_written(kResultIsThere);
  });
  return 0;
}

namespace {

// How long a rank leaves the word to rank 0, which may see the same: launchers end the whole job as
// soon as one rank leaves with a failure, perhaps before rank 0 has spoken.
constexpr std::chrono::seconds kPatience{5};

// The rank that the variables of the launcher give; 0 without a launcher. It serves before MPI has
// started, and where MPI cannot start.
int launcher_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::atoi(rank);
  }
  return 0;
}

bool has_launcher() {
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  // Slurm's variables are no sign: a shell of a batch script passes them on.
  return is_set("OMPI_COMM_WORLD_RANK") || is_set("PMIX_RANK") || is_set("PMI_RANK");
}

// Tells whether this process prints what needs no MPI: one process of a job does.
bool speaks_before_mpi() { return launcher_rank() == 0; }

void print_once(const std::string& text) {
  if (speaks_before_mpi()) console::print(text);
  console::require_written();
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

// Returns the text that answers the command line on its own, without MPI and without files.
std::optional<std::string> plain_answer(const std::vector<std::string>& arguments) {
  if (arguments.empty() || asks_for_help(arguments[0])) return general_help();
  if (arguments[0] == "help") {
    const bool names_command =
        arguments.size() > 1 && arguments[1] != "help" && !asks_for_help(arguments[1]);
    return names_command ? command_help(arguments[1]) : general_help();
  }
  if (arguments[0] == "--version") return version_text();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (asks_for_help(arguments[i])) return command_help(arguments[0]);
  }
  return std::nullopt;
}

// Reports a failure of which no communicator can inform the others: every rank has it, or the start
// of MPI failed, here perhaps alone.
void report_alone(const Error& error) {
  const int rank = launcher_rank();
  if (rank != 0) {
    std::this_thread::sleep_for(kPatience);  // rank 0's end is this process' end too
    // Rank 0 says the same of the command line; it waits for ever where MPI failed here alone.
    if (!comm::mpi_is_up() && error.kind() == ErrorKind::usage) return;
  }
  const int world_size = rank == 0 ? 1 : rank + 1;  // at least
  std::fputs((comm::failure_line(error, rank, world_size, host_name()) + "\n").c_str(), stderr);
}

// Runs a command within MPI. After a failure that all ranks agreed on, every rank leaves MPI and
// returns the same code. Any other failure ends the job at once, because the other ranks may wait
// in a collective already.
int run_job(const std::function<int(const comm::Communicator&)>& command, int& argc, char**& argv) {
  if (has_launcher()) end_with_launcher();
  if (launcher_rank() == 0) {
    if (const auto note = comm::shared_memory_note()) log::note(*note);
  }
  std::optional<watchdog::Watchdog> watchdog;  // it sees the end of MPI, too
  comm::Runtime runtime(&argc, &argv);
  const auto& world = runtime.world();
  log::set_verbosity(world.is_root() ? log::Verbosity::speaks : log::Verbosity::quiet);
  watchdog.emplace(world);
  try {
    return command(world);
  } catch (const comm::AgreedFailure& failure) {
    return exit_code(failure.kind);
  } catch (const comm::PeerFailed&) {
    comm::end_with_peer();
  } catch (...) {
    comm::fail_job(world, current_error());
  }
}

int dispatch(const std::vector<std::string>& arguments, int& argc, char**& argv) {
  // Under a launcher there may be other ranks, so that the line names this one.
  name_rank_of_failures(launcher_rank(), has_launcher() ? launcher_rank() + 2 : 1);
  if (const auto text = plain_answer(arguments)) {
    print_once(*text);
    return 0;
  }
  model::leave_out_broken_amx();  // before MPI, and before anything computes
  // So is this, which forks. Rank 0 tries files for all.
  std::optional<hdf5::FileProbe> probe;
  if (speaks_before_mpi()) probe.emplace();
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const auto evaluate = [&](EvaluateMode mode) {
    std::optional<ErrorFile> error_file;  // it outlives what run_job() catches
    if (mode != EvaluateMode::check) error_file.emplace();
    return run_job([&](const auto& comm) { return run_evaluate(comm, mode, rest); }, argc, argv);
  };
  if (arguments[0] == "evaluate") return evaluate(EvaluateMode::evaluate);
  if (arguments[0] == "check") return evaluate(EvaluateMode::check);
  if (arguments[0] == "score") return evaluate(EvaluateMode::score);
  if (arguments[0] == "watch") {
    return run_job([&](const auto& comm) { return run_watch(comm, rest); }, argc, argv);
  }
  // One process does these, however many were started.
  if (arguments[0] == "inspect" || arguments[0] == "compare") {
    const auto run = arguments[0] == "inspect" ? run_inspect : run_compare;
    if (speaks_before_mpi()) run(rest);
    console::require_written();
    return 0;
  }
  refuse_command(arguments[0]);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, int& argc, char**& argv) {
  try {
    return dispatch(arguments, argc, argv);
  } catch (...) {
    // Where MPI is up already, the peers must not wait for this rank.
    const Error error = current_error();
    report_alone(error);
    std::fflush(stdout);
    comm::abort_job(exit_code(error.kind()));
  }
}

}  // namespace tally::app
