// One table of options makes the help, the parser, the validation and the record in the report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/config/run_config.hpp>

namespace tally::config {

// What is scored: a model's outputs, saved predictions, or every checkpoint that
// training writes. The latter two know fewer options of a model, and some of their own.
enum class RunKind { model, predictions, checkpoints };

struct Parsed {
  RunConfig config;
  // Unknown TALLY_ variables in the environment, for one warning each.
  std::vector<std::string> unknown_variables;
};

// Resolves options in this order of precedence: command line, environment (TALLY_BATCH_SIZE),
// config file (--config FILE, lines `batch-size = 32`), default. `arguments` are those behind the
// subcommand; `environment` holds "NAME=value" entries. Error(usage) names the option, the value
// and where it came from; an unknown option names the nearest known one.
Parsed parse_run_options(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment,
                         RunKind kind = RunKind::model);

// The options' part of `tally evaluate --help`, or `tally score --help`.
std::string run_options_help(RunKind kind = RunKind::model);

}  // namespace tally::config
