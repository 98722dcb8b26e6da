// SPDX-License-Identifier: Apache-2.0
// Defines the settings of `tally evaluate`, `check`, `score` and `watch`, resolved and validated.
// One table of options makes the help, the parser, the validation and the record in the report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/config/config_file.hpp>

namespace tally::config {

// The batch size is to be found by trying.
inline constexpr std::int64_t kAutoBatchSize = 0;
// As many as the device wants and the node has.
inline constexpr int kAutoReadThreads = 0;

// Which files are read and written. Empty texts: not given.
struct FileOptions {
  std::string predictions;     // what `tally score` scores in place of a model's outputs
  std::string model;           // TorchScript file or .pt2 package
  std::string model_sha256;    // that it must have
  std::string weights;         // replaces the model's weights
  std::string weights_sha256;  // that they must have: of the file, else of the tensors
  std::string weights_key;
  std::string weights_prefix;  // taken off the names; empty: the usual ones
  std::string data;            // HDF5 data set
  std::string output;          // result folder; empty: chosen by rank 0
  bool overwrite = false;
  bool resume = false;             // from what an earlier run left in `output`
  double checkpoint_every_s = 60;  // 0: progress is kept on a signal only
};

// What is scored, and which metrics are computed.
struct ScoringOptions {
  std::string task;  // empty: the data set's
  // logits, log-probabilities, probabilities, of saved predictions also classes, values; empty: the
  // card's, or that of the saved file.
  std::string outputs;
  std::string classes_by = "auto";  // auto, name, index
  std::string valid_classes;        // file of the classes that are scored; empty: all
  std::vector<std::string> names;   // empty: the task's standard set
  std::int64_t confusion_max_classes = 2048;
  std::string definitions = "torchmetrics";  // torchmetrics, sklearn
  double threshold = 0.5;                    // of binary and multilabel predictions
  double label_smoothing = 0;
  std::string class_weights;  // file of one number per class; empty: all 1
  std::int64_t calibration_bins = 15;
  std::string on_nan = "fail";   // fail, wrong
  std::string curves = "exact";  // exact, bf16
  std::int64_t limit = 0;        // first N samples; 0: all
};

// How questions are answered.
struct AnswerOptions {
  std::int64_t max_length = 30;    // of a predicted answer, in tokens
  std::int64_t n_best = 20;        // answers per question in nbest.json
  double no_answer_threshold = 0;  // margin above which no answer is predicted
};

// How the model runs, and on what.
struct ExecutionOptions {
  std::int64_t batch_size = 64;     // or kAutoBatchSize
  std::int64_t bucket_batches = 8;  // batches that are sorted by length; 1: none
  std::string precision = "model";  // one of model::Precision
  bool tune = false;
  std::string cpu_kernels = "auto";  // auto, torch
  bool allow_training_mode = false;
  std::string cuda_graphs = "auto";  // auto, off
  std::string device = "auto";       // auto, cpu, cuda
  std::string reduce = "auto";       // auto, nccl, mpi
  bool check_reduction = false;
  int threads = 1;            // per rank
  double stall_limit_s = 60;  // 0: nothing is watched
};

// How the data set is read.
struct ReadingOptions {
  int threads = kAutoReadThreads;  // per rank, that read the data set
  std::string stage;               // folder on each node for its part of the data set; empty: none
};

// What becomes of the result.
struct ResultOptions {
  std::string intervals = "wilson";  // off, wilson, bootstrap
  std::int64_t bootstrap_replicas = 1000;
  std::int64_t seed = 0;
  std::vector<std::string> save = {"labels"};  // labels, topk, probabilities, logits, masks, none
  std::int64_t gather_window_bytes = 64 << 20;
  std::string spill_dir;          // empty: $TMPDIR, else /tmp
  std::string progress = "auto";  // auto, bar, log, off
  std::string trace;              // file of the trace; empty: none
};

// Which checkpoints `tally watch` evaluates, and when it stops.
struct WatchConfig {
  std::string checkpoints;        // folder that training writes to; empty: this is no watch
  double poll_s = 10;             // between two scans of the folder
  std::int64_t stop_after = 0;    // checkpoints, also of earlier runs; 0: no end
  std::int64_t time_limit_s = 0;  // 0: none
  std::string monitor;            // metric; empty: the task's first
  std::string mode;               // max, min; empty: the metric's own
  std::int64_t patience = 0;      // 0: never stop early
  double min_delta = 0;
  bool significant = true;
  std::string keep_best = "link";  // link, copy, none
};

struct RunConfig {
  FileOptions files;
  ScoringOptions scoring;
  AnswerOptions answers;
  ExecutionOptions execution;
  ReadingOptions reading;
  ResultOptions results;
  WatchConfig watch;

  // All settings as (option name, text), in table order, for agreement and the report.
  std::vector<std::pair<std::string, std::string>> settings;
};

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
// and where it came from; an unknown option names the nearest known one. A config file is read
// unless it is `already_read`.
Parsed parse_run_options(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, RunKind kind = RunKind::model,
                         const ConfigFile& already_read = {});

// Reads the config file that the command line or the environment names, if they name one: one rank
// of a job does so, for all. Error(usage).
ConfigFile read_named_config_file(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& environment, RunKind kind);

// The options' part of the help of `tally evaluate` and `check`, `score`, or `watch`.
std::string run_options_help(RunKind kind = RunKind::model);

}  // namespace tally::config
