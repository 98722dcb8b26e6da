// SPDX-License-Identifier: Apache-2.0
#include "command_help.hpp"

#include <tally/base/build_info.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/nearest_word.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/comm/mpi_runtime.hpp>
#include <tally/config/compare_options.hpp>
#include <tally/config/inspect_options.hpp>
#include <tally/config/run_options.hpp>
#include <tally/device/gpus.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/model/predictor.hpp>
#include <tally/model/torch_info.hpp>
#include <tally/tasks/task.hpp>

namespace tally::app {
namespace {

// These are the values of ErrorKind, and kResumableExitCode.
constexpr std::string_view kExitCodes =
    "Exit codes: 0 ok, 2 usage, 3 data set, 4 model, 5 environment or GPU, 6 output,\n"
    "7 numeric (NaN or Inf from the model), 8 a rank was lost or stalled, 9 internal,\n"
    "75 stopped on request, to go on with --resume (watch: by the same command).\n"
    "Every rank returns the same.\n";

// The list is made from the registry of metrics, so that help and program cannot differ.
std::string metrics_help() {
  std::string text;
  for (const auto task : task_names()) {
    if (metrics::known_metrics(task).empty()) continue;
    text += format("Metrics of task {} (--metrics LIST; *: the standard set):\n", task);
    for (const auto& metric : metrics::known_metrics(task)) {
      text += format("{} {:<31} {}\n", metric.standard ? "*" : " ", metric.name, metric.definition);
    }
  }
  return text;
}

std::string evaluate_help(std::string_view usage, std::string_view purpose,
                          config::RunKind kind = config::RunKind::model) {
  return format(
      "Usage: {}\n\n{}\n\n{}\n"
      "Every option may also stand in the environment (TALLY_BATCH_SIZE=32) or in a --config file\n"
      "(lines `batch-size = 32`; comments `# …` on lines of their own).\n"
      "Precedence: command line, environment, file, default.\n\n{}\n{}",
      usage, purpose, config::run_options_help(kind), metrics_help(), kExitCodes);
}

std::string compare_help() {
  return format(
      "Usage: tally compare DIR_A DIR_B [options]\n\n"
      "Compares two results over the same samples: McNemar's exact test of samples that are right\n"
      "(not of a regression), paired intervals of the difference in each metric, the samples that\n"
      "are predicted otherwise, and a sentence in the end. DIR is the folder of a result, or its\n"
      "predictions.h5.\n\n{}\n"
      "Results that are not of the same samples are refused (exit 3). A metric that the saved\n"
      "columns cannot give is left out, with the --save value that would give it; one that\n"
      "--metrics names is then an error (exit 2).\n",
      config::compare_options_help());
}

std::string inspect_help() {
  return format(
      "Usage: tally inspect FILE|RESULT [--verify] [--add-checksums FILE]\n"
      "       tally inspect WEIGHTS [--weights-key KEY] [--to-safetensors FILE]\n"
      "       tally inspect RESULT|predictions.h5 [--worst N] [filters]\n\n"
      "Says what a data set, model, weights or result file holds; of a result's folder\n"
      "what its report says, of a trace what to open it with. Of saved predictions it\n"
      "shows the samples that matter, with names of classes, groups, questions, choices\n"
      "and gold answers where the data set is still there.\n\n{}",
      config::inspect_options_help());
}

}  // namespace

std::string general_help() {
  return format(
      "tally {}: exact, MPI-native distributed evaluation of trained models\n\n"
      "  tally evaluate --model M --data D [--output DIR] [options]   evaluate a model\n"
      "  tally check    (same options)                                everything up to the first\n"
      "                                                               batch, then the plan\n"
      "  tally score    --predictions P --data D [options]            metrics from saved\n"
      "                                                               predictions, no model\n"
      "  tally inspect  FILE                                          what a data set, model,\n"
      "                                                               weights or result file "
      "holds\n"
      "  tally compare  DIR_A DIR_B                                   paired tests between two\n"
      "                                                               results over the same "
      "samples\n"
      "  tally watch    --checkpoints DIR --model M --data D          evaluate every checkpoint "
      "that\n"
      "                                                               training writes; when to "
      "stop\n"
      "  tally COMMAND --help                                         all options of a command\n"
      "  tally --version                                              versions of program and "
      "libraries\n\n"
      "On several ranks:  mpirun -n 4 tally evaluate --model model.pt --data val.h5\n\n"
      "A model file is a program of its author: evaluate only models that you trust.\n{}",
      build_info().version, kExitCodes);
}

// Which one is loaded, or why none can be.
std::string libtorch_line() {
  try {
    return "LibTorch " + model::torch_version();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string version_text() {
  const auto& info = build_info();
  const int cuda = device::cuda_header_version();
  return format("tally {} ({}, {}, {})\n{}\n{}\n{}\n", info.version, info.revision, info.build_type,
                info.compiler, libtorch_line(), comm::Runtime::library_version(),
                cuda == 0 ? "without CUDA" : "CUDA " + device::cuda_version_text(cuda));
}

std::string command_help(std::string_view command) {
  if (command == "evaluate") {
    return evaluate_help("[mpirun -n P] tally evaluate --model M --data D [options]",
                         "Evaluates a model over a data set, each sample exactly once, with the "
                         "same digits\nfor any number of ranks.");
  }
  if (command == "check") {
    return evaluate_help(
        "[mpirun -n P] tally check --model M --data D [options]",
        "Does everything that 'evaluate' does up to the first batch, prints the "
        "plan and\nwrites nothing. It reads no samples: see 'tally inspect DATA --verify'.");
  }
  if (command == "score") {
    return evaluate_help(
        "[mpirun -n P] tally score --predictions P --data D [options]",
        "Scores predictions that were saved, with the same metrics as 'evaluate':\n"
        "what a predictions.h5 holds (of classes logits or probabilities, of images masks, by\n"
        "--save), the same as numpy's .npy or as CSV, in the data set's order and with --outputs,\n"
        "answers to questions, also in SQuAD's form {\"question id\": \"answer\", …}, or\n"
        "detections, also in COCO's form of results. Runs no model.",
        config::RunKind::predictions);
  }
  if (command == "watch") {
    return evaluate_help(
        "[mpirun -n P] tally watch --checkpoints DIR --model M --data D [options]",
        "Evaluates every checkpoint that training writes to a folder, in order of its step, once "
        "it\n"
        "is complete; keeps a leaderboard and the best one, says when training can stop, and goes\n"
        "on until a file 'done' lies in the folder, --stop-after, --time-limit or a signal.\n"
        "Started again with the same options it goes on where it was.",
        config::RunKind::checkpoints);
  }
  if (command == "inspect") return inspect_help();
  if (command == "compare") return compare_help();
  refuse_command(command);
}

void refuse_command(std::string_view command) {
  throw Error(
      ErrorKind::usage, format("'{}' is no command of tally", printable(command)),
      did_you_mean(command, {"evaluate", "check", "score", "inspect", "compare", "watch", "help"},
                   "See 'tally --help'."));
}

}  // namespace tally::app
