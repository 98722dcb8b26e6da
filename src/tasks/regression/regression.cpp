// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/regression_pass.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"

namespace tally::tasks {
namespace {

using metrics::RegressionRecord;
using Rows = std::span<const RegressionRecord>;
using ValueColumn = Column<Rows>;

// Throws Error(usage): a real value has no kind, and no columns of classes.
void check_regression_options(const TaskOptions& options) {
  if (options.outputs != metrics::OutputKind::logits) {
    throw Error(ErrorKind::usage,
                format("a regression's outputs are values, not {}", metrics::name(options.outputs)),
                "Say --outputs logits where the model card says otherwise.");
  }
  const auto is_of_classes = [](SaveColumns group) { return group != SaveColumns::labels; };
  if (std::ranges::any_of(options.save, is_of_classes)) {
    throw Error(ErrorKind::usage, "a regression has no classes whose scores could be saved",
                "Use --save labels.");
  }
}

void check_shape(std::span<const std::int64_t> shape, std::int64_t outputs) {
  // A single output may come without a dimension of its own.
  const bool one_each = shape.size() == 1 && outputs == 1;
  if (one_each || (shape.size() == 2 && shape[1] == outputs)) return;
  throw Error(
      ErrorKind::model,
      format("the model's output is {}, expected {}[rows, {}] for the data set's {} outputs",
             to_string(shape), outputs == 1 ? "[rows] or " : "", outputs, outputs),
      "Check that model and data set belong together.");
}

// Columns ----------------------------------------------------------------------------------------

void fill_index(const Rows& rows, std::span<std::byte> out) {
  std::ranges::transform(
      rows, values_in<std::int64_t>(out).begin(),
      [](const RegressionRecord& row) { return static_cast<std::int64_t>(row.index); });
}

void fill_values(const Rows& rows, const float* RegressionRecord::*values,
                 std::span<std::byte> out) {
  auto place = values_in<float>(out).begin();
  for (const RegressionRecord& row : rows) place = std::copy_n(row.*values, row.num_outputs, place);
}

void fill_targets(const Rows& rows, std::span<std::byte> out) {
  fill_values(rows, &RegressionRecord::targets, out);
}

void fill_predictions(const Rows& rows, std::span<std::byte> out) {
  fill_values(rows, &RegressionRecord::predictions, out);
}

// Returns the squared error, mean over the outputs. Errors are summed in double and in one order,
// and rounded to float32 once.
float loss_of(const RegressionRecord& row) {
  if (!row.finite) return std::numeric_limits<float>::quiet_NaN();
  double sum = 0;
  for (std::int64_t i = 0; i < row.num_outputs; ++i) {
    const double error = double{row.predictions[i]} - double{row.targets[i]};
    sum += error * error;
  }
  return static_cast<float>(sum / static_cast<double>(row.num_outputs));
}

void fill_loss(const Rows& rows, std::span<std::byte> out) {
  std::ranges::transform(rows, values_in<float>(out).begin(), loss_of);
}

std::vector<ValueColumn> saved_columns(const TaskOptions& options) {
  if (options.save.empty()) return {};
  const std::int64_t outputs = options.metrics.num_classes;
  // docs/formats.md promises [N] for one output and [N, D] for several.
  const Shape shape = outputs == 1 ? Shape{} : Shape{outputs};
  return {{{"index", DType::i64, {}}, fill_index},
          {{"label", DType::f32, shape}, fill_targets},
          {{"loss", DType::f32, {}}, fill_loss},
          {{"prediction", DType::f32, shape}, fill_predictions}};
}

// Spearman's correlation ranks values after the loop, so that it needs these columns also where
// nothing is recounted. They always have the dimension of outputs, unlike saved ones.
std::vector<ValueColumn> retained_columns_of(const TaskOptions& options, bool needs_order) {
  if (!options.keep_rows && !needs_order) return {};
  const Shape shape{options.metrics.num_classes};
  return {{{"index", DType::i64, {}}, fill_index},
          {{"prediction", DType::f32, shape}, fill_predictions},
          {{"target", DType::f32, shape}, fill_targets}};
}

// Returns the rows that the columns of retained_columns_of() hold, in this order. The rows point
// into the columns.
std::vector<RegressionRecord> retained_rows(const predictions::RecordBatch& retained,
                                            std::int64_t outputs) {
  const auto* const indices = reinterpret_cast<const std::int64_t*>(retained.columns.at(0).data());
  const auto* predictions = reinterpret_cast<const float*>(retained.columns.at(1).data());
  const auto* targets = reinterpret_cast<const float*>(retained.columns.at(2).data());
  std::vector<RegressionRecord> rows;
  rows.reserve(to_size(retained.num_rows));
  for (std::int64_t i = 0; i < retained.num_rows; ++i) {
    // Whether a row is finite is not retained: regression_row() finds it again.
    rows.push_back(metrics::regression_row(static_cast<std::uint64_t>(indices[i]),
                                           {predictions, to_size(outputs)},
                                           {targets, to_size(outputs)}));
    predictions += outputs;
    targets += outputs;
  }
  return rows;
}

// Scoring ----------------------------------------------------------------------------------------

// These are the settings that all scorers of the task share, and that outlive them.
struct RegressionConfig {
  explicit RegressionConfig(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        resample_metrics(metrics.options()),
        columns(saved_columns(given)),
        retained(retained_columns_of(given, metrics.needs_order())) {}

  std::int64_t num_outputs() const { return options.metrics.num_classes; }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;  // for counting kept rows
  std::vector<ValueColumn> columns;
  std::vector<ValueColumn> retained;
};

class RegressionScorer : public BatchScorer {
 public:
  RegressionScorer(const RegressionConfig& config, std::int64_t max_samples,
                   const device::Device& device)
      : config_(config), pass_(config.metrics), batch_(max_samples, config.num_outputs(), device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& scores = scores_in(batch.outputs);
    check_shape(scores.shape, config_.num_outputs());
    check_rows(batch);
    pass_.enqueue(batch.first_index, batch.num_samples, scores,
                  label_of(batch, config_.options, config_.label_position), counts, batch_);
  }

  void collect(CollectedBatch& collected) override {
    const Rows rows = batch_.rows();
    collected.not_finite = not_finite_of(rows);
    record(rows, std::ssize(rows), config_.columns, collected.records);
    record(rows, std::ssize(rows), config_.retained, collected.retained);
  }

 private:
  const RegressionConfig& config_;
  metrics::RegressionPass pass_;
  metrics::RegressionBatch batch_;
};

class Regression : public CountingTask<RegressionConfig>, public ValuePairs {
 public:
  explicit Regression(const TaskOptions& options) : CountingTask(options) {
    check_regression_options(options);
  }

  Capabilities capabilities() const override { return {.value_pairs = this}; }

  void check_outputs(std::span<const TensorView> outputs) const override {
    check_shape(scores_in(outputs).shape, config_.num_outputs());
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    return std::make_unique<RegressionScorer>(config_, max_samples, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    return {config_.resample_metrics, retained_rows(retained, config_.num_outputs())};
  }

  std::int64_t num_pair_outputs() const override { return config_.num_outputs(); }

  void prediction_target_pairs(const predictions::RecordBatch& retained,
                               std::span<float> predictions,
                               std::span<float> targets) const override {
    const auto rows = retained_rows(retained, config_.num_outputs());
    // A prediction that is not finite is copied, too: the NaN of its target leaves it out.
    fill_predictions(rows, std::as_writable_bytes(predictions));
    auto place = targets.begin();
    for (const RegressionRecord& row : rows) {
      if (row.finite) {
        place = std::copy_n(row.targets, row.num_outputs, place);
      } else {
        place = std::fill_n(place, row.num_outputs, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
};

}  // namespace

std::unique_ptr<Task> make_regression(const TaskOptions& options) {
  if (options.metrics.maps) return make_map_regression(options);
  return std::make_unique<Regression>(options);
}

}  // namespace tally::tasks
