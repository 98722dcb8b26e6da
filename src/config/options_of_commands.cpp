// SPDX-License-Identifier: Apache-2.0
#include "options_of_commands.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "option_bindings.hpp"

namespace tally::config {
namespace {

constexpr std::string_view kWatch = "Which checkpoints, and when to stop";
constexpr std::int64_t kMostCheckpoints = std::numeric_limits<std::int64_t>::max();
constexpr double kLongestPoll = 1e6;
constexpr double kLargestDelta = 1e9;

// `tally score` lacks these options: they say how a model computes its outputs, or where, and it
// reads outputs that were saved.
constexpr std::array<std::string_view, 22> kOfModels{"model",
                                                     "classes-by",
                                                     "model-sha256",
                                                     "weights",
                                                     "weights-sha256",
                                                     "weights-key",
                                                     "weights-prefix",
                                                     "max-answer-length",
                                                     "n-best",
                                                     "batch-size",
                                                     "bucket-batches",
                                                     "precision",
                                                     "tune",
                                                     "cuda-graphs",
                                                     "cpu-kernels",
                                                     "device",
                                                     "reduce",
                                                     "threads",
                                                     "stage",
                                                     "read-threads",
                                                     "no-answer-threshold",
                                                     "allow-training-mode"};

// `tally watch` lacks these options: each checkpoint brings its own weights, and the others belong
// to a single result. A watch that is started again goes on in any case.
constexpr std::array<std::string_view, 6> kOfOneRun{"weights", "weights-sha256",   "overwrite",
                                                    "resume",  "checkpoint-every", "trace"};

OptionTable watch_options(WatchConfig& watch) {
  return {{kFiles, "checkpoints", "DIR", "folder that training writes its checkpoints to", "",
           words(watch.checkpoints), Presence::required},
          {kWatch, "poll", "SECONDS",
           "between two scans of the folder; what stayed the same from one to the next is complete",
           "", number(watch.poll_s, 0.01, kLongestPoll)},
          {kWatch, "stop-after", "N",
           "end after so many checkpoints, with those of earlier runs; 0: no", "",
           whole_number(watch.stop_after, std::int64_t{0}, kMostCheckpoints)},
          {kWatch, "time-limit", "SECONDS",
           "begin no evaluation that might not end within them; exit code 75; 0: none", "",
           whole_number(watch.time_limit_s, std::int64_t{0}, kMostCheckpoints)},
          {kWatch, "monitor", "METRIC", "what tells better checkpoints from worse",
           "the task's first metric", words(watch.monitor)},
          {kWatch, "mode", "MODE", "whether more or less of it is better: max, min",
           "the metric's own", one_of(watch.mode, {"max", "min"})},
          {kWatch, "patience", "N",
           "stop early after so many checkpoints in a row without a gain; 0: never", "",
           whole_number(watch.patience, std::int64_t{0}, kMostCheckpoints)},
          {kWatch, "min-delta", "D", "a gain is more than this", "",
           number(watch.min_delta, 0.0, kLargestDelta)},
          {kWatch, "significant", "BOOL",
           "a gain also lies beyond the interval of the last one; --significant=false: it need not",
           "", flag(watch.significant)},
          {kWatch, "keep-best", "MODE", "OUTPUT/best: a link to the best checkpoint, a copy, none",
           "", one_of(watch.keep_best, {"link", "copy", "none"})}};
}

template <class Names>
void leave_out(OptionTable& table, const Names& names) {
  std::erase_if(table, [&](const Option& option) {
    return std::ranges::find(names, option.name) != names.end();
  });
}

}  // namespace

OptionTable options_of(RunConfig& run, std::string& config_file, RunKind kind) {
  OptionTable table = all_run_options(run, config_file);
  if (kind == RunKind::predictions) {
    leave_out(table, kOfModels);
    // It stands where --model stands in the help of the other commands.
    table.insert(table.begin(), {kFiles, "predictions", "FILE",
                                 "a predictions.h5, a .npy or .csv file (with --outputs), SQuAD's "
                                 "predictions.json, or COCO's results",
                                 "", words(run.files.predictions), Presence::required});
    Option& outputs = *std::ranges::find(table, "outputs", &Option::name);
    outputs.help =
        "what the predictions are: logits, log-probabilities, probabilities, classes; of "
        "regression values";
    outputs.default_words = "what a predictions.h5 says";
    outputs.binding = one_of(run.scoring.outputs,
                             {"logits", "log-probabilities", "probabilities", "classes", "values"});
  }
  if (kind == RunKind::checkpoints) {
    leave_out(table, kOfOneRun);
    const auto own = watch_options(run.watch);
    table.insert(table.begin(), own.begin(), own.end());
    // The name has no time in it, so that a watch that is started again finds its folder.
    for (auto& option : table) {
      if (option.name == "output") option.default_words = "tally-watch-<name of the folder>";
    }
  }
  return table;
}

}  // namespace tally::config
