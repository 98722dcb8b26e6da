// SPDX-License-Identifier: Apache-2.0
// Declares what follows the model's output: a task counts scores into the State and makes records
// for the prediction log.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/task_traits.hpp>
#include <tally/base/tensor_view.hpp>
#include <tally/device/device.hpp>
#include <tally/exact/state.hpp>
#include <tally/metrics/device_accumulator.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/results.hpp>
#include <tally/predictions/record_batch.hpp>
#include <tally/tasks/answers.hpp>
#include <tally/tasks/capabilities.hpp>
#include <tally/tasks/detection_matching.hpp>

namespace tally::tasks {

// Groups of columns that `--save` takes; an empty list saves nothing.
enum class SaveColumns { labels, topk, probabilities, logits, masks };

// The classes that are right for a sample, by its index; they outlive the call.
using RightClasses = std::function<std::span<const std::int64_t>(std::int64_t)>;

struct TaskOptions {
  std::string task{task_name(TaskKind::multiclass)};
  metrics::OutputKind outputs = metrics::OutputKind::logits;
  metrics::MetricOptions metrics = {};
  std::vector<SaveColumns> save = {};
  // Names of ScoredBatch::targets; most tasks score "label".
  std::vector<std::string> targets = {"label"};
  // Names of ScoredBatch::outputs, by the model's card; empty without one.
  std::vector<std::string> output_names = {};
  // Whether what it takes to count a sample again (subgroups, resampling) is kept until after the
  // loop. Scores are kept where a metric needs their order.
  bool keep_rows = false;
  // Threads that share the pass over the scores of tokens on a CPU.
  int threads = 1;
  // Whether outputs are what predictions.h5 holds, not what a model returned.
  bool are_saved = false;
  // Multiclass, where several classes may be right for a sample: the one with the best score counts
  // as its label; a sample without any has its own label.
  RightClasses right_classes = {};
  // Of question answering.
  AnswerLimits answer_limits = {};
  AnswerPolicy answer_policy = {};
};

// The model's outputs and the targets of one batch, on the device; rows past `num_samples` are
// padding.
struct ScoredBatch {
  std::int64_t first_index = 0;  // global index of the first sample
  std::int64_t num_samples = 0;
  // Of each sample, where they do not follow one another from the first on.
  std::span<const std::int64_t> indices = {};
  std::span<const TensorView> outputs;  // of the model, of types and shapes that the task takes
  std::span<const TensorView> targets;  // in the order of the data set's target names
};

// What is left of a batch.
struct CollectedBatch {
  predictions::RecordBatch records;      // of Task::columns(), where samples are units
  predictions::RecordBatch retained;     // of Task::sample_columns()
  std::vector<std::int64_t> not_finite;  // indices of samples whose output holds NaN or Inf
};

// Scores one batch after the other; several scorers have as many batches in flight.
class BatchScorer {
 public:
  virtual ~BatchScorer() = default;

  // Enqueues on the stream of `counts`: scores num_samples rows into them. Error(model) if the
  // output's shape or type is not the expected one.
  virtual void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) = 0;
  // Once the stream has passed that batch. Error(model) says that outputs are not of the expected
  // kind.
  virtual void collect(CollectedBatch& collected) = 0;
};

// Places of sequences [samples, places], by their labels.
struct ScoredPlaces {
  std::size_t target = 0;    // of ScoredBatch::targets
  std::int64_t ignored = 0;  // the label of places whose scores are not read
};

class Task : public Resampling {
 public:
  virtual ~Task() = default;

  virtual Capabilities capabilities() const { return {}; }

  // Full names of the metrics that are wanted.
  virtual const std::vector<std::string>& metrics() const = 0;
  virtual std::shared_ptr<const exact::StateLayout> layout() const = 0;
  virtual metrics::Results finalize(const exact::State& state) const = 0;

  // Of predictions.h5, sorted by name: a row per unit. Complete once outputs are settled.
  virtual std::vector<predictions::ColumnSpec> columns() const = 0;
  // What scorers retain of each sample: retained_columns(), or what units are made of.
  virtual std::vector<predictions::ColumnSpec> sample_columns() const { return retained_columns(); }

  // Error(model), naming what was found and what was expected, if the model's outputs do not fit
  // the data set. For the warm-up; scorers check it too.
  virtual void check_outputs(std::span<const TensorView> outputs) const = 0;
  // The same, and what depends on the shapes of these outputs is settled: before scorers are made.
  virtual void bind_output_shapes(std::span<const TensorView> outputs) { check_outputs(outputs); }
  // Where a model's scores of sequences are read; none where all of them are.
  virtual std::optional<ScoredPlaces> scored_places() const { return std::nullopt; }
  // What the user should know of these outputs, once they are settled.
  virtual std::vector<std::string> notes() const { return {}; }
  // For batches of at most `max_samples` on this device; the task outlives it.
  virtual std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                                   const device::Device& device) const = 0;
};

// Error(internal) of a task without them.
const ClassScores& class_scores_of(const Task& task);
const ValuePairs& value_pairs_of(const Task& task);

// Error(usage) names a task or metric that is not known, or a column that the model's kind of
// output cannot give; Error(dataset) names a target that the task needs and the data set lacks.
std::unique_ptr<Task> make_task(const TaskOptions& options);

}  // namespace tally::tasks
