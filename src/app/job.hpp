// A run of `tally evaluate` in its three parts: prepare, run the loop, publish.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/comm/placement.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/config/options.hpp>
#include <tally/config/run_config.hpp>
#include <tally/device/device.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/loop.hpp>
#include <tally/evaluate/routes.hpp>
#include <tally/exact/state.hpp>
#include <tally/exchange/answer_thresholds.hpp>
#include <tally/model/cpu_way.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/predictions/log.hpp>
#include <tally/predictions/saved_rows.hpp>
#include <tally/tasks/task.hpp>

#include "gpu_libraries.hpp"
#include "inputs.hpp"
#include "phases.hpp"
#include "saved_detections.hpp"
#include "saved_scores.hpp"
#include "subgroups.hpp"
#include "tracing.hpp"

namespace tally::app {

// Everything that exists before the first batch. The order of the members is the order in which
// they may depend on each other.
struct Job {
  config::RunConfig config;
  std::unique_ptr<Tracing> tracing;  // with --trace
  std::string output;                // folder, the same on every rank
  double began_s = 0;                // the process's age when this evaluation began
  device::Device device;
  device::GpuInventory gpus;  // not looked for where the CPU was asked for
  comm::Placement placement;
  std::optional<device::Stream> stream;  // on which the device computes
  OpenedData data;
  LoadedModel model;
  std::optional<SavedTexts> saved_texts;  // answers that are scored in place of a model's
  // The same of documents, and of questions with choices.
  std::optional<predictions::SavedRows> saved_units;
  // Detections in place of a model's; they are on rank 0.
  std::optional<SavedDetections> saved_detections;
  GpuVersions gpu_versions;                                   // zeros on the CPU
  metrics::OutputKind outputs = metrics::OutputKind::logits;  // in force
  std::string class_weights_digest;                           // empty without them
  std::string task_name;                                      // in force
  std::unique_ptr<tasks::Task> task;
  evaluate::Routes routes;
  // The way that all ranks agreed on, for this predictor and all later ones; not set where each
  // finds out by itself.
  std::optional<model::CpuWay> way;
  bool varies = false;  // the model gives other scores for the same batch, which was allowed
  std::unique_ptr<comm::Reducer> reducer;
  std::optional<plan::BatchGrid> grid;
  plan::BatchRange slice;
  std::int64_t num_units = 0;     // that are scored, of all ranks
  int read_threads = 1;           // in force
  std::int64_t staged_bytes = 0;  // of all ranks
  std::vector<Subgroups> subgroups;
  std::vector<std::string> notes;

  // Whether it is evaluated again and again, with other weights.
  bool is_watch() const { return !config.watch.checkpoints.empty(); }
};

// Of the data set, or of what --limit leaves; of saved answers these are questions.
std::int64_t num_samples(const Job& job);

// Collective. Settings, files, device, model, task, one warm-up batch: whatever can fail for a
// foreseeable reason fails here, on all ranks with one line, before anything is written.
Job prepare_job(const comm::Communicator& comm, config::RunKind kind,
                const std::vector<std::string>& arguments, Phases& phases);

// Adds notes for what a model's card says, or its absence, that changes what figures mean.
void note_model(Job& job);
// Collective. Adds a note if the processors of some ranks announce AMX but cannot run it.
void note_amx(const comm::Communicator& comm, Job& job);

// Adds a note for each option of metrics and their intervals that is given and changes nothing: a
// user expects something of it.
void note_idle_options(Job& job);

// What `tally check` prints.
std::string plan_text(const Job& job, int world_size);

// What the loop leaves on one rank.
struct LoopResult {
  exact::State state;
  predictions::PredictionLog log;
  predictions::PredictionLog kept;  // what counting again takes
  // Where several samples make a unit, these are of units from here on (units.hpp):
  std::int64_t first_index = 0;                          // of the first row of both
  std::vector<std::int64_t> unit_samples;                // first sample of each
  std::optional<predictions::PredictionLog> texts;       // lines of the result's JSON files
  std::vector<exchange::AnswerMargin> margins;           // where a metric is made of them
  std::optional<predictions::PredictionLog> detections;  // metrics::DetectionRow, where they are
  evaluate::LoopFindings findings;
  double read_s = 0;
  std::int64_t bytes_read = 0;          // from the data set
  std::optional<double> energy_j = {};  // of this rank's GPU, whoever uses it
};

// Of each log, before it goes to a file.
inline constexpr std::int64_t kLogMemoryBytes = std::int64_t{64} << 20;
// --spill-dir, else $TMPDIR, else /tmp.
std::string spill_folder(const config::RunConfig& config);

// The folder for records that outgrow memory may be needed only hours later: Error(output) now if
// it is no writable folder.
void check_spill_folder(const config::RunConfig& config);

// Evaluates this rank's slice. No communication: what it throws must end the whole job.
LoopResult run_loop(Job& job, evaluate::Observer& observer);

}  // namespace tally::app
