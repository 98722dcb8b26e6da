// The evaluation session: everything that a run opens and decides before its first batch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tally/comm/communicator.hpp>
#include <tally/comm/placement.hpp>
#include <tally/comm/reducer.hpp>
#include <tally/config/run_config.hpp>
#include <tally/device/device.hpp>
#include <tally/device/gpus.hpp>
#include <tally/device/stream.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/model/cpu_way.hpp>
#include <tally/plan/batch_grid.hpp>
#include <tally/session/gpu_libraries.hpp>
#include <tally/session/opened_files.hpp>
#include <tally/session/score_source.hpp>
#include <tally/session/scoring.hpp>
#include <tally/session/tracing.hpp>

namespace tally::app {

// Where the result of an evaluation goes.
struct RunOutput {
  std::string folder;                // the same on every rank
  bool overwrite = false;            // what an earlier evaluation left there
  double began_s = 0;                // age of the process, in seconds, when the evaluation began
  std::unique_ptr<Tracing> tracing;  // null without --trace

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
  // From columns of the data set to inputs of the model; their memory is the loop's.
  std::unique_ptr<evaluate::InputMapping> inputs = std::make_unique<evaluate::InputMapping>();
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

  // Whether it is evaluated again and again, with other weights.
  bool is_watch() const { return !config.watch.checkpoints.empty(); }
};

// Whether units that were saved are scored, so that the session's samples are units.
bool scores_units(const EvaluationSession& session);

// The number of samples that are evaluated: those of the data set, or what --limit leaves of them.
std::int64_t num_samples(const EvaluationSession& session);

}  // namespace tally::app
