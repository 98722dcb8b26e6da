// SPDX-License-Identifier: Apache-2.0
// Defines the evaluation session, which is everything that a run opens and decides before its first
// batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally/comm/agreed_placement.hpp>
#include <tally/comm/communicator.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/config/run_options.hpp>
#include <tally/data/data_set.hpp>
#include <tally/device/device.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/model/cpu_execution_settings.hpp>
#include <tally/model/loaded_model.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/plan/remaining_batches.hpp>
#include <tally/report/run_report.hpp>
#include <tally/resume/progress_files.hpp>
#include <tally/session/gpu_versions.hpp>
#include <tally/session/run_facts.hpp>
#include <tally/session/score_source.hpp>
#include <tally/session/tracing.hpp>
#include <tally/tasks/task.hpp>

namespace tally::app {

// The files that a run has open: its data set and its model.
struct OpenedData {
  std::unique_ptr<data::DataSet> set;
  report::InputFile file;
  std::optional<std::string> samples = {};  // data::DataSet::sample_identity()
};

struct OpenedModel {
  std::unique_ptr<model::LoadedModel> loaded;  // only where more weights are to come
  std::unique_ptr<model::Predictor> predictor;
  report::InputFile model;
  std::optional<report::WeightsFile> weights;
  std::vector<std::string> notes;  // of the weights; log::note() was given them
  std::string card_digest;         // of a card beside the model file; empty without one
};

// The task of a run, and how the outputs of a model are scored by it.

// The subgroups of one dataset under /groups.
struct Subgroups {
  std::size_t column = 0;            // in DataSetInfo::columns.groups
  std::vector<std::int32_t> values;  // all that occur in the evaluated samples, ascending
};

struct Scoring {
  std::string task_name;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  std::string class_weights_digest;  // SHA-256; empty without class weights
  std::string valid_classes_digest;  // SHA-256 of their numbers; empty without --valid-classes
  std::vector<std::int64_t> excluded_classes;  // the others
  bool has_label_sets = false;                 // several classes may be right for a sample
  std::unique_ptr<tasks::Task> task;
  std::vector<Subgroups> subgroups;
  std::int64_t num_units = 0;  // that are scored, of all ranks

  tasks::Capabilities capabilities() const { return task->capabilities(); }
};

// Where the result of an evaluation goes.
struct RunOutput {
  std::string folder;                   // the same on every rank
  bool overwrite = false;               // what an earlier evaluation left there
  bool resume = false;                  // its progress
  bool is_complete = false;             // it left the complete result of this run
  std::vector<resume::PartName> parts;  // of the progress, as they were found
  std::int64_t num_damaged_parts = 0;   // of these
  double began_s = 0;                   // age of the process, in seconds, when the evaluation began
  std::unique_ptr<Tracing> tracing;     // null without --trace

  // The next evaluation of a watch, which began at that age of the process.
  void begin(double age_s, std::string next_folder) {
    began_s = age_s;
    folder = std::move(next_folder);
    overwrite = true;  // what an evaluation left that was cut short
  }
};

// The device of this rank, as the ranks agreed on it.
struct Hardware {
  device::Device device;
  device::GpuInventory gpus;  // empty where the CPU was asked for
  comm::Placement placement;
  std::optional<device::Stream> stream;  // on which the device computes
  GpuVersions gpu_versions;              // zeros on the CPU
};

// How the predictor runs. Only warm_up.hpp's functions change it, but for the batch size.
struct Execution {
  std::int64_t batch_size = 0;  // in force
  // The length of the sequences that the model is warmed up with; 0: the stored length.
  std::int64_t sequence_length = 0;
  // How columns of the data set become inputs of the model. Behind a pointer because the loop
  // writes to its buffers, though the session is constant to it.
  std::unique_ptr<evaluate::InputMapping> inputs = std::make_unique<evaluate::InputMapping>();
  // The way that all ranks agreed on, for this predictor and all later ones; not set where each
  // rank decides by itself.
  std::optional<model::CpuExecutionSettings> way;
  bool varies = false;  // the model gives other scores for the same batch, which was allowed
};

// Which samples this rank evaluates, and how it reads them.
struct BatchPlan {
  std::optional<plan::BatchGrid> grid;  // of all ranks
  plan::BatchRange slice;               // of this rank
  std::vector<plan::Segment> segments;  // of the slice; parts are those of Resumption
  int read_threads = 1;
  std::int64_t staged_bytes = 0;  // of all ranks
};

// What an earlier run left, and this one takes over.
struct Resumption {
  RunFacts facts;                       // of the latest attempt
  std::vector<resume::Progress> parts;  // of all ranks of all attempts; `state` only of own ones
  std::int64_t num_samples = 0;         // that are done
};

// The order of the members is the order in which they may depend on each other.
struct EvaluationSession {
  explicit EvaluationSession(config::RunConfig settings) : config(std::move(settings)) {}

  const config::RunConfig config;
  RunOutput output;
  Hardware hardware;
  OpenedData data;
  OpenedModel model;
  std::unique_ptr<ScoreSource> source;
  Scoring scoring;
  Execution execution;
  std::unique_ptr<comm::Reducer> reducer;
  BatchPlan plan;
  int attempt = 1;                       // that this run is
  std::optional<Resumption> resumption;  // where there is progress

  // Whether it is evaluated again and again, with other weights.
  bool is_watch() const { return !config.watch.checkpoints.empty(); }
};

// Whether units that were saved are scored, so that the session's samples are units.
bool is_rescoring_units(const EvaluationSession& session);

// The number of samples that are evaluated: those of the data set, or what --limit leaves of them.
std::int64_t num_samples(const EvaluationSession& session);

// Where the ranks keep the progress of this run, and where that of earlier ones is.
std::filesystem::path progress_folder(const EvaluationSession& session);

// What a reader of predictions.h5 must know to score its rows again.

// Attributes of the file by name, as docs/formats.md lists them.
std::map<std::string, std::string> scoring_attributes(const EvaluationSession& session);

}  // namespace tally::app
