#include <cstdio>
#include <cstdlib>
#include <optional>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/host.hpp>
#include <tally/base/log.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/runtime.hpp>

#include "commands.hpp"

namespace tally::app {
namespace {

// Rank 0 as far as the launcher's variables say: texts that need no MPI are printed once.
bool speaks_before_mpi() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = std::getenv(variable)) return std::string_view(rank) == "0";
  }
  return true;
}

void print_once(const std::string& text) {
  if (speaks_before_mpi()) std::fputs(text.c_str(), stdout);
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

// The text that answers the command line on its own, without MPI and without files.
std::optional<std::string> plain_answer(const std::vector<std::string>& arguments) {
  if (arguments.empty() || asks_for_help(arguments[0])) return general_help();
  if (arguments[0] == "help") {
    return arguments.size() > 1 ? command_help(arguments[1]) : general_help();
  }
  if (arguments[0] == "--version") return version_text();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (asks_for_help(arguments[i])) return command_help(arguments[0]);
  }
  return std::nullopt;
}

int report_alone(const Error& error) {
  if (speaks_before_mpi()) {
    std::fputs((comm::failure_line(error, 0, 1, host_name()) + "\n").c_str(), stderr);
  }
  return exit_code(error.kind());
}

// The one place that decides how a rank dies: after a failure that was agreed on every rank leaves
// MPI and returns the same code; any other failure ends the job at once, for the peers may already
// wait in a collective.
int run_job(EvaluateMode mode, const std::vector<std::string>& arguments, int& argc, char**& argv) {
  comm::Runtime runtime(&argc, &argv);
  const auto& world = runtime.world();
  log::set_voice(world.is_root() ? log::Voice::speaks : log::Voice::quiet);
  try {
    run_evaluate(world, mode, arguments);
    return 0;
  } catch (const comm::AgreedFailure& failure) {
    return exit_code(failure.kind);
  } catch (...) {
    comm::fail_job(world, current_error());
  }
}

int dispatch(const std::vector<std::string>& arguments, int& argc, char**& argv) {
  if (const auto text = plain_answer(arguments)) {
    print_once(*text);
    return 0;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "evaluate") return run_job(EvaluateMode::evaluate, rest, argc, argv);
  if (arguments[0] == "check") return run_job(EvaluateMode::check, rest, argc, argv);
  if (arguments[0] == "inspect") {
    if (speaks_before_mpi()) run_inspect(rest);  // one process does it, however many were started
    return 0;
  }
  throw Error(ErrorKind::usage, format("'{}' is no command of tally", arguments[0]),
              "See 'tally --help'.");
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, int& argc, char**& argv) {
  try {
    return dispatch(arguments, argc, argv);
  } catch (...) {
    // Where MPI is up already, the peers must not wait for this rank.
    const int code = report_alone(current_error());
    std::fflush(stdout);
    comm::abort_job(code);
  }
}

}  // namespace tally::app
