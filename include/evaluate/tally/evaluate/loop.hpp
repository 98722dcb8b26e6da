// The loop: a slice of batches through reader, preparation, model and task. Knows no rank, no MPI.
#pragma once

#include <cstdint>
#include <span>

#include <tally/data/batch_reader.hpp>
#include <tally/evaluate/routes.hpp>
#include <tally/exact/state.hpp>
#include <tally/model/predictor.hpp>
#include <tally/predictions/log.hpp>
#include <tally/tasks/task.hpp>

namespace tally::evaluate {

// Where batches come from. BatchReader in a run; tests plant dropped and repeated batches.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next batch, valid until the next call; nullptr after the last.
  virtual const data::Batch* next() = 0;
};

// Told after each batch; called on the loop's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void batch_done(std::int64_t samples_done, const exact::State& state) = 0;
};

struct Parts {
  BatchSource& source;
  std::span<InputRoute> routes;
  model::Predictor& predictor;
  tasks::Task& task;
  predictions::PredictionLog& log;
  Observer& observer;
};

struct LoopTimes {
  std::int64_t samples = 0;
  double prepare_s = 0;      // normalise and cast
  double predict_s = 0;      // the model
  double score_s = 0;        // metrics and records
  double first_batch_s = 0;  // from the start of the loop to the end of its first batch
  double total_s = 0;
  std::int64_t first_batch_samples = 0;
};

// Runs every batch the source has; adds to `state`, which is canonical afterwards. Throws what the
// parts throw.
LoopTimes run(const Parts& parts, exact::State& state);

}  // namespace tally::evaluate
