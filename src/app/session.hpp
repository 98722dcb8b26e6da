// The evaluation session: everything that a run opens and decides before its first batch.
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
#include <tally/evaluate/routes.hpp>
#include <tally/model/cpu_way.hpp>
#include <tally/plan/batch_grid.hpp>
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

// Where the result of an evaluation goes. A watch changes it from one checkpoint to the next.
struct RunOutput {
  std::string folder;                // the same on every rank
  double began_s = 0;                // age of the process, in seconds, when the evaluation began
  std::unique_ptr<Tracing> tracing;  // null without --trace
};

// The device of this rank, as the ranks agreed on it.
struct Hardware {
  device::Device device;
  device::GpuInventory gpus;  // empty where the CPU was asked for
  comm::Placement placement;
  std::optional<device::Stream> stream;  // on which the device computes
  GpuVersions gpu_versions;              // zeros on the CPU
};

// What `tally score` scores in place of a model's outputs; at most one is set.
struct SavedInputs {
  std::optional<SavedTexts> texts;              // answers
  std::optional<predictions::SavedRows> units;  // documents, or questions with choices
  std::optional<SavedDetections> detections;    // on rank 0
};

// The task, with what its metrics are computed of.
struct Scoring {
  std::string task_name;
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  std::string class_weights_digest;  // SHA-256; empty without class weights
  std::unique_ptr<tasks::Task> task;
  std::vector<Subgroups> subgroups;
  std::int64_t num_units = 0;  // that are scored, of all ranks
};

// How the model runs.
struct Execution {
  evaluate::Routes routes;
  // The way that all ranks agreed on, for this predictor and all later ones; not set where each
  // rank decides by itself.
  std::optional<model::CpuWay> way;
  bool varies = false;  // the model gives other scores for the same batch, which was allowed
};

// Which samples this rank evaluates, and how it reads them.
struct BatchPlan {
  std::optional<plan::BatchGrid> grid;  // of all ranks
  plan::BatchRange slice;               // of this rank
  int read_threads = 1;
  std::int64_t staged_bytes = 0;  // of all ranks
};

// The order of the members is the order in which they may depend on each other.
struct EvaluationSession {
  config::RunConfig config;
  RunOutput output;
  Hardware hardware;
  OpenedData data;
  LoadedModel model;
  SavedInputs saved;
  Scoring scoring;
  Execution execution;
  std::unique_ptr<comm::Reducer> reducer;
  BatchPlan plan;
  std::vector<std::string> notes;  // for the user, in the report

  // Whether it is evaluated again and again, with other weights.
  bool is_watch() const { return !config.watch.checkpoints.empty(); }
};

// The number of samples that are evaluated: those of the data set, or what --limit leaves of them.
// Where saved units are scored, units are counted in place of samples.
std::int64_t num_samples(const EvaluationSession& session);

// Collective. Reads the settings, opens files, device and model, and runs one warm-up batch:
// whatever can fail for a foreseeable reason fails here, on all ranks with one line, before
// anything is written.
EvaluationSession open_session(const comm::Communicator& comm, config::RunKind kind,
                               const std::vector<std::string>& arguments, Phases& phases);

// Adds notes for what a model's card says, or its absence, that changes what metrics mean.
void note_model(EvaluationSession& session);
// Collective. Adds a note if the processors of some ranks announce AMX but cannot run it.
void note_amx(const comm::Communicator& comm, EvaluationSession& session);

// Adds a note for each option of metrics and their intervals that is given and changes nothing: a
// user expects something of it.
void note_idle_options(EvaluationSession& session);

// The text that `tally check` prints.
std::string plan_text(const EvaluationSession& session, int world_size);

// --spill-dir, else $TMPDIR, else /tmp.
std::string spill_folder(const config::RunConfig& config);

// The folder for records that outgrow memory may be needed only hours later: Error(output) now if
// it is no writable folder.
void check_spill_folder(const config::RunConfig& config);

}  // namespace tally::app
