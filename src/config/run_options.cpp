// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include <tally/config/run_options.hpp>

#include "option_bindings.hpp"
#include "option_table.hpp"
#include "options_of_commands.hpp"

namespace tally::config {
namespace {

constexpr std::string_view kMetrics = "Metrics";
constexpr std::string_view kExecution = "Execution";
constexpr std::string_view kResults = "Results";

// Upper limits: a value beyond them is refused as a slip before anything is allocated for it.
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr double kMaxSeconds = 1e6;
constexpr std::int64_t kMaxBatch = 1 << 24;
constexpr std::int64_t kMaxClasses = 1 << 20;
constexpr int kMaxThreads = 4096;
constexpr int kMaxReadThreads = 64;
constexpr std::int64_t kMaxBins = 1000;
constexpr std::int64_t kMaxAnswer = 10'000;
constexpr double kMaxMargin = 1e9;
constexpr std::int64_t kMaxBucket = 1 << 20;
constexpr std::int64_t kMaxReplicas = 100'000;

}  // namespace

// The names are a contract with users (docs/contracts.md).
OptionTable all_run_options(RunConfig& run, std::string& config_file) {
  const Presence must = Presence::required;
  return {
      {kFiles, "model", "FILE", "TorchScript .pt or .ts, package .pt2, .onnx, .xml", "",
       words(run.files.model), must},
      {kFiles, "model-sha256", "HEX", "end with code 4 if the model file has another digest", "",
       sha256_digits(run.files.model_sha256)},
      {kFiles, "weights", "PATH",
       "weights that replace the model's: a state_dict or training checkpoint (.pt, .pth, .ckpt, "
       ".bin), .safetensors, shards with their index, or a folder: of Transformers, Accelerate, "
       "torch.distributed.checkpoint (DCP) or DeepSpeed (ZeRO)",
       "the model's own", words(run.files.weights)},
      {kFiles, "weights-sha256", "HEX",
       "end with code 4 if the weights have another digest: of the file, or, where there are "
       "several, tensors_sha256 of the report",
       "", sha256_digits(run.files.weights_sha256)},
      {kFiles, "weights-key", "KEY",
       "entry of a training checkpoint that holds the weights, as state_dict_ema",
       "found by itself", words(run.files.weights_key)},
      {kFiles, "weights-prefix", "PREFIX",
       "taken off the names of the weights, as 'net.'; tensors without it are left out",
       "module., _orig_mod. and model., where that fits", words(run.files.weights_prefix)},
      {kFiles, "data", "FILE", "HDF5 data set; of several files their index, NAME.shards.json", "",
       words(run.files.data), must},
      {kFiles, "output", "DIR", "folder of the results", "tally-<UTC time>-<job or process id>",
       words(run.files.output)},
      {kFiles, "overwrite", "BOOL", "replace a result that is in the output folder", "",
       flag(run.files.overwrite)},
      {kFiles, "resume", "BOOL",
       "go on from the progress that an earlier run left in the output folder, on any number of "
       "ranks",
       "", flag(run.files.resume)},
      {kFiles, "checkpoint-every", "S",
       "seconds between two times that a run keeps its progress in the output folder; 0: only on a "
       "signal",
       "", number(run.files.checkpoint_every_s, 0.0, kMaxSeconds)},
      {kMetrics, "task", "NAME",
       "what the targets mean: multiclass, binary, multilabel, regression, segmentation, "
       "detection, question-answering, language-model, multiple-choice, token-classification; "
       "predict: save what the model returns, score nothing",
       "the data set's attribute", words(run.scoring.task)},
      {kMetrics, "outputs", "KIND",
       "what the model returns: logits, log-probabilities, probabilities",
       "the model card's, else logits",
       one_of(run.scoring.outputs, {"logits", "log-probabilities", "probabilities"})},
      {kMetrics, "classes-by", "HOW",
       "which class of the model a label means: index: the one of its number; name: the one of its "
       "class's name; auto: of its number, and the same names in another order are refused",
       "", one_of(run.scoring.classes_by, {"auto", "name", "index"})},
      {kMetrics, "valid-classes", "FILE",
       "multiclass: score these classes alone, a number or name a line; the scores of the others "
       "count as minus infinity",
       "all", words(run.scoring.valid_classes)},
      {kMetrics, "metrics", "LIST",
       "names separated by commas; 'standard' and 'all' stand for several, 'none' for none",
       "the task's standard set", name_list(run.scoring.names)},
      {kMetrics, "confusion-max-classes", "N",
       "multiclass: keep the confusion matrix for at most so many; 0: never", "",
       whole_number(run.scoring.confusion_max_classes, std::int64_t{0}, kMaxClasses)},
      {kMetrics, "definitions", "SOURCE",
       "where packages define a metric differently: torchmetrics, sklearn", "",
       one_of(run.scoring.definitions, {"torchmetrics", "sklearn"})},
      {kMetrics, "threshold", "P",
       "binary and multilabel: predicted where the probability is greater", "",
       number(run.scoring.threshold, 0.0, 1.0)},
      {kMetrics, "label-smoothing", "E", "of the loss, as torch's cross_entropy has it", "",
       number(run.scoring.label_smoothing, 0.0, 1.0)},
      {kMetrics, "class-weights", "FILE", "of the loss: a text file with one number per class",
       "all 1", words(run.scoring.class_weights)},
      {kMetrics, "calibration-bins", "N", "bins of confidence for the calibration errors", "",
       whole_number(run.scoring.calibration_bins, std::int64_t{1}, kMaxBins)},
      {kMetrics, "curves", "MODE",
       "AUROC and related: exact; bf16: of scores rounded to 16 bits, in less memory", "",
       one_of(run.scoring.curves, {"exact", "bf16"})},
      {kMetrics, "max-answer-length", "N", "question answering: longest answer, in tokens", "",
       whole_number(run.answers.max_length, std::int64_t{1}, kMaxAnswer)},
      {kMetrics, "n-best", "N", "question answering: answers kept for each question", "",
       whole_number(run.answers.n_best, std::int64_t{1}, kMaxAnswer)},
      {kMetrics, "no-answer-threshold", "T",
       "question answering: no answer where its score exceeds the best span's by more", "",
       number(run.answers.no_answer_threshold, -kMaxMargin, kMaxMargin)},
      {kMetrics, "on-nan", "POLICY",
       "samples with NaN or Inf outputs: fail (exit 7, listed) or count them as wrong", "",
       one_of(run.scoring.on_nan, {"fail", "wrong"})},
      {kMetrics, "limit", "N", "evaluate the first N samples only; 0: all", "",
       whole_number(run.scoring.limit, std::int64_t{0}, kMaxInt64)},
      {kExecution, "batch-size", "N",
       "samples per rank and step; 'auto' tries some and takes the fastest", "",
       or_word("auto", kAutoBatchSize, run.execution.batch_size,
               whole_number(run.execution.batch_size, std::int64_t{1}, kMaxBatch))},
      {kExecution, "bucket-batches", "N",
       "text: samples of N batches are sorted by length, and padding is not computed; 1: all is",
       "", whole_number(run.execution.bucket_batches, std::int64_t{1}, kMaxBucket)},
      {kExecution, "precision", "P",
       "of weights and inputs: model (the model's own), fp32, tf32 (GPUs only), bf16 or fp16; "
       "amp-bf16, amp-fp16: torch's autocast, as under torch.autocast() in training",
       "",
       one_of(run.execution.precision,
              {"model", "fp32", "tf32", "bf16", "fp16", "amp-bf16", "amp-fp16"})},
      {kExecution, "tune", "BOOL",
       "try ways of running the model and take the fastest; CPUs: kernels of a TorchScript model, "
       "and samples at a time; GPUs: cuDNN's algorithms, and the digests are not comparable then",
       "", flag(run.execution.tune)},
      {kExecution, "cuda-graphs", "WHEN",
       "GPUs: auto replays a forward pass of many small kernels where that is faster; or off", "",
       one_of(run.execution.cuda_graphs, {"auto", "off"})},
      {kExecution, "cpu-kernels", "K",
       "CPUs, TorchScript: torch runs LibTorch's operators alone, as the model names them; auto "
       "also fused and faster ones",
       "", one_of(run.execution.cpu_kernels, {"auto", "torch"})},
      {kExecution, "allow-training-mode", "BOOL",
       "evaluate a model that was traced in training mode, or that gives other scores for the same "
       "batch, as its file says; the digests are not comparable then",
       "", flag(run.execution.allow_training_mode)},
      {kExecution, "device", "D", "cpu, cuda; auto: a GPU where there is one", "",
       one_of(run.execution.device, {"auto", "cpu", "cuda"})},
      {kExecution, "reduce", "R",
       "what adds up the ranks' results: nccl, mpi; auto: NCCL for several ranks on GPUs, else MPI",
       "", one_of(run.execution.reduce, {"auto", "nccl", "mpi"})},
      {kExecution, "check-reduction", "BOOL",
       "add up a second way, over MPI, and compare bit for bit", "",
       flag(run.execution.check_reduction)},
      {kExecution, "threads", "N",
       "threads per rank; on CPUs each takes a piece of the batch if it can", "",
       whole_number(run.execution.threads, 1, kMaxThreads)},
      {kExecution, "stall-limit", "S",
       "seconds after which a rank whose reads and batches do not get on ends the job with code 8; "
       "other steps get ten times as many; 0: never",
       "", number(run.execution.stall_limit_s, 0.0, kMaxSeconds)},
      {kExecution, "read-threads", "N",
       "threads per rank that read; auto: 1 on CPUs, with a GPU the rank's cores, at most 8", "",
       or_word("auto", kAutoReadThreads, run.reading.threads,
               whole_number(run.reading.threads, 1, kMaxReadThreads))},
      {kExecution, "stage", "DIR",
       "copy each node's part of the data set to this folder on the node first, and read from "
       "there",
       "no copy", words(run.reading.stage)},
      {kResults, "save", "LIST",
       "columns of predictions.h5: labels, topk, probabilities, logits, masks; or none", "",
       choice_list(run.results.save, {"labels", "topk", "probabilities", "logits", "masks"},
                   "none")},
      {kResults, "intervals", "METHOD",
       "95 % intervals: off, wilson (of proportions), bootstrap (of all other metrics, too)", "",
       one_of(run.results.intervals, {"off", "wilson", "bootstrap"})},
      {kResults, "bootstrap-replicas", "N", "replicates of the bootstrap", "",
       whole_number(run.results.bootstrap_replicas, std::int64_t{2}, kMaxReplicas)},
      {kResults, "seed", "N", "of the bootstrap's weights", "",
       whole_number(run.results.seed, std::int64_t{0}, kMaxInt64)},
      {kResults, "gather-window", "BYTES", "predictions on their way at rank 0 at any time", "",
       byte_size(run.results.gather_window_bytes, 1)},
      {kResults, "spill-dir", "DIR", "where prediction logs above 64 MiB go", "$TMPDIR, else /tmp",
       words(run.results.spill_dir)},
      {kResults, "progress", "STYLE",
       "bar, log (a line every 10 s), off; auto: a bar on a terminal, else log", "",
       one_of(run.results.progress, {"auto", "bar", "log", "off"})},
      {kResults, "trace", "FILE", "what every rank did when, as JSON for ui.perfetto.dev", "none",
       words(run.results.trace)},
      {kFiles, kConfigOption, "FILE", "options as lines 'batch-size = 32'", "none",
       words(config_file)},
  };
}

Parsed parse_run_options(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, RunKind kind,
                         const ConfigFile& already_read) {
  Parsed parsed;
  std::string config_file;
  const OptionTable table = options_of(parsed.config, config_file, kind);
  parsed.unknown_variables = resolve(table, arguments, environment, already_read);
  // The settings are written from the fields and not as they were given: ranks compare them as
  // text, and one value must have one text.
  parsed.config.settings = settings_of(table);
  return parsed;
}

ConfigFile read_named_config_file(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& environment, RunKind kind) {
  RunConfig unused;
  std::string also_unused;
  const auto path = config_file_path(options_of(unused, also_unused, kind), arguments, environment);
  return path.empty() ? ConfigFile{} : read_config_file(path);
}

std::string run_options_help(RunKind kind) {
  RunConfig defaults;
  std::string config_file;
  return options_help(options_of(defaults, config_file, kind));
}

}  // namespace tally::config
