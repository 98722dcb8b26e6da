// SPDX-License-Identifier: Apache-2.0
// Runs the loop: it takes a slice of batches through reader, preparation, model and task. It knows
// no rank and no MPI.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <tally/base/error.hpp>
#include <tally/data/batch_reader.hpp>
#include <tally/device/stream.hpp>
#include <tally/diagnosis/first_batch.hpp>
#include <tally/diagnosis/pixel_sums.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/exact/state.hpp>
#include <tally/model/predictor.hpp>
#include <tally/predictions/prediction_log.hpp>
#include <tally/tasks/task.hpp>

namespace tally::evaluate {

// Where batches come from. BatchReader in a run; tests plant dropped and repeated batches.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next batch, valid until LoopInputs::in_flight further calls; nullptr after the last.
  virtual const data::Batch* next() = 0;
};

struct LoopStats;

// Is called on the loop's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  // After each batch, in their order. `state` may be some batches behind on a GPU.
  virtual void batch_done(std::int64_t samples_done, const exact::State& state) = 0;
  // Where every batch that was started is complete, its block too: `state`, which need not be
  // canonical, and `stats` but for the times are exactly theirs, and the logs hold their records.
  // On the CPU after each block, on a GPU where wants_whole_blocks() said so.
  virtual void blocks_done(const LoopStats& /*stats*/, const exact::State& /*state*/) {}
  // On a GPU, after each block was started: whether to wait for it and those before.
  virtual bool wants_whole_blocks() { return false; }
};

// How many batches are best on their way through a device at a time: 1 on the CPU, which does
// everything when it is asked to.
int batches_in_flight(const device::Device& device);

struct LoopInputs {
  const device::Stream& stream;
  std::int64_t batch_size = 0;
  std::int64_t slot_bytes = 0;  // of Batch::memory, for a GPU
  int in_flight = 1;            // batches; the source holds on to as many
  BatchSource& source;
  std::span<InputBinding> bindings;
  model::Predictor& predictor;
  tasks::Task& task;
  predictions::PredictionLog& log;       // of Task::columns()
  predictions::PredictionLog& retained;  // of Task::sample_columns()
  Observer& observer;
  // What the predictor gives are predicted classes alone, of saved predictions.
  bool are_classes = false;
  // More samples than these without a finite output end the loop with Error(numeric): the rest
  // would be wasted.
  std::int64_t most_not_finite = std::numeric_limits<std::int64_t>::max();
  // On a GPU: the largest batch of this data set is scored before the loop, so that scorers need no
  // memory in it, which would wait for the GPU.
  const data::DataSetInfo* info = nullptr;
  // Where it is given, what the first batch shows of mistakes is written there.
  diagnosis::FirstBatch* first_batch = nullptr;
};

// Samples whose output holds NaN or Inf, of predicted classes alone those without a prediction.
struct NotFinite {
  static constexpr std::size_t kListed = 10;
  std::int64_t count = 0;
  std::vector<std::int64_t> first_indices;  // at most kListed, ascending

  // One behind those that are there.
  void add(std::int64_t index);
  // Those of other samples.
  void merge(const NotFinite& other);
};

struct LoopStats {
  std::int64_t samples = 0;
  double wait_s = 0;  // for the source
  // On a GPU the next three are the time to enqueue; score_s also that to keep the records.
  double prepare_s = 0;      // copy, normalise and cast
  double predict_s = 0;      // the model
  double score_s = 0;        // metrics and records
  double device_wait_s = 0;  // the host waited for the oldest batch in flight
  double first_batch_s = 0;  // from the start of the loop to the end of its first batch
  double total_s = 0;
  std::int64_t first_batch_samples = 0;
  NotFinite not_finite;
  diagnosis::PixelSums pixels;  // of images that are normalised

  // Adds those of a loop over other samples, which ran after this one.
  void merge(const LoopStats& later);
};

// The failure that these are: Error(numeric) naming them. `bound` stands before their number.
// are_classes: as in LoopInputs.
Error numeric_error(const NotFinite& found, bool are_classes, std::string_view bound = "");

// Runs every batch the source has; adds to `state`, which is fresh, and canonical afterwards.
// Throws what the parts throw.
LoopStats run(const LoopInputs& parts, exact::State& state);

}  // namespace tally::evaluate
