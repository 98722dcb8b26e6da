// SPDX-License-Identifier: Apache-2.0
// Defines the report of a run as plain structs, of which report.json, metrics.h5 and a table for
// people are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally/base/image_recipe.hpp>
#include <tally/metrics/results.hpp>

namespace tally::report {

// Sums over sample indices, modulo 2^64.
struct Evidence {
  std::int64_t count = 0;
  std::uint64_t index_sum = 0;
  std::uint64_t index_mix = 0;
  bool operator==(const Evidence&) const = default;
};

struct PhaseTime {
  std::string name;                         // "load_model"
  double min_s = 0, mean_s = 0, max_s = 0;  // over ranks
};

// Seconds of a rank's loop; but for the total they follow one another on its thread.
struct LoopTimes {
  double total_s = 0;
  double wait_s = 0;  // for data
  double prepare_s = 0, forward_s = 0, metrics_s = 0;
  double device_wait_s = 0;
};

struct RankTimings {
  int rank = 0;
  std::string host;
  std::string device;  // "cpu: AMD EPYC"
  std::int64_t samples = 0;
  double read_s = 0, compute_s = 0, wait_s = 0;
  std::string gpu = {};  // UUID; empty on the CPU
  LoopTimes loop = {};
  double wait_for_ranks_s = 0;  // after the loop
  // From the data set, during the loop: blocks with a checksum are read whole.
  std::int64_t bytes_read = 0, bytes_needed = 0;
  // Of its GPU, until all ranks were through their loops; the first of those that share one has it.
  std::optional<double> energy_j = {};
};

// How the ranks' counters were added up.
struct Reduction {
  std::string by;        // "mpi", "nccl"
  bool checked = false;  // against a second sum, bit for bit
};

struct InputFile {
  std::string path;
  std::int64_t bytes = 0;
  std::string digest;  // sha256 of a model, identity of a data set
};

// The weights that took the place of the model's own.
struct WeightsFile {
  std::string path;        // file or folder, as the user gave it
  std::int64_t bytes = 0;  // of all files
  std::int64_t num_files = 1;
  std::string sha256;  // of the file; empty where there are several
  // Of the weights in force, whatever files they came from (docs/formats.md).
  std::string tensors_sha256;

  // What they are known by.
  const std::string& digest() const { return sha256.empty() ? tensors_sha256 : sha256; }
};

// The metrics of one dataset under /groups.
struct GroupMetrics {
  struct Value {
    std::int32_t value = 0;
    metrics::Results results;
  };
  std::string name;
  std::vector<Value> values;  // ascending
};

// The points of one class's curves.
struct Curve {
  std::vector<double> false_positive_rate, true_positive_rate;
  std::vector<float> roc_threshold;
  // Whether a score that equals the threshold counts as positive at this point.
  std::vector<std::uint8_t> roc_includes_threshold;
  std::vector<double> precision, recall;
  std::vector<float> threshold;
};

// Saved answers or detections, and the questions or images of the data set, by their ids.
struct IdMatch {
  // Answers to questions, or detections of images or categories, that the data set does not have.
  std::int64_t num_foreign = 0;
  std::vector<std::string> first_foreign;
  std::int64_t num_missing = 0;  // questions without an answer, images without a row
  std::vector<std::string> first_missing;
};

// The environment's entry that says how the model computed.
inline constexpr const char* kModelForm = "model_form";

// What digests.state is the digest of: the merged State, and behind it what ranks exchanged for
// metrics that one State cannot give.
struct ExchangedCounts {
  std::vector<std::string> layout;  // a line for each span of the State
  std::vector<std::int64_t> state;
  std::vector<std::byte> exchanged;  // empty where they are too many
  std::int64_t exchanged_bytes = 0;
};

// What was counted and computed.
struct MetricsReport {
  std::string task;
  std::string definitions;  // "torchmetrics": whose, where packages differ
  metrics::Results results;
  std::vector<GroupMetrics> groups;
  std::vector<Curve> curves;  // one per class; empty where no metric is made of them
  std::vector<std::int64_t> not_finite_indices;  // the first samples of results.not_finite
  std::vector<std::string> class_names;
  ExchangedCounts counts;
};

// Which samples there are, and which were to be evaluated.
struct CoverageReport {
  Evidence expected;
  std::int64_t total_samples = 0;  // in the file
  // In the file, of what is scored: samples, or what several of them make.
  std::int64_t total_units = 0;
  std::optional<IdMatch> ids;  // of saved answers and detections
};

// What two runs are compared by (docs/formats.md).
struct Digests {
  std::string state;
  std::optional<std::string> predictions;
  std::string digest_class;  // runs of one class have the same digests
  std::string inputs;        // of all that was given, whatever machine computes
  bool comparable = true;
};

// How the batches were cut and the counters added up.
struct ExecutionReport {
  std::int64_t batch_size = 0, num_batches = 0;
  double balance = 1.0;
  Reduction reduction;
};

// How long the run and its parts took.
struct TimingReport {
  double wall_s = 0, startup_s = 0;
  double publish_s = 0;  // of `wall_s`, after the phases
  std::optional<double> steady_samples_per_s;
  std::vector<PhaseTime> phases;
  std::vector<RankTimings> ranks;
};

// What was evaluated, on which data.
struct InputsReport {
  InputFile model;
  std::optional<WeightsFile> weights;
  std::string model_source;  // JSON text of the card's "source"; may be empty
  InputFile data;
  // The same for data sets of the same samples that were prepared differently (docs/formats.md).
  std::optional<std::string> data_samples;
  std::optional<ImageRecipes> recipes;  // where the inputs are images
  // "checked", "columns checked" (but not attributes and names) or "unchecked".
  std::string data_integrity = "unchecked";
  std::optional<std::int64_t> staged_bytes;  // of the data set on the nodes' own disks
};

// By which settings, and in which environment.
struct Provenance {
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, std::string>> environment;  // versions, launcher, host …
};

// What metrics and the first batch show of a mistake in what went in.
struct Diagnosis {
  std::string code;  // "labels_shifted"
  std::string text;  // what was seen, and the next step
};

// All of it, as report.json has it.
struct RunReport {
  MetricsReport metrics;
  CoverageReport coverage;
  Digests digests;
  ExecutionReport execution;
  TimingReport timing;
  InputsReport inputs;
  Provenance provenance;
  std::vector<std::string> text_files;  // written beside predictions.h5: "detections.json"
  std::vector<std::string> notes;       // one line each: what the user should know
  std::vector<Diagnosis> diagnosis;
};

}  // namespace tally::report
