#include "regression.hpp"

#include <algorithm>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/regression_pass.hpp>

namespace tally::tasks {
namespace {

using metrics::RegressionRow;
using Rows = std::span<const RegressionRow>;

constexpr std::string_view kTarget = "label";

std::size_t position_of_target(const std::vector<std::string>& targets) {
  const auto found = std::find(targets.begin(), targets.end(), kTarget);
  if (found == targets.end()) {
    throw Error(ErrorKind::dataset,
                format("the data set has the targets [{}], expected '{}' for regression",
                       fmt::join(targets, ", "), kTarget));
  }
  return to_size(found - targets.begin());
}

void check_options(const TaskOptions& options) {
  if (options.outputs != metrics::OutputKind::logits) {
    throw Error(ErrorKind::usage,
                format("a regression's outputs are values, not {}", metrics::name(options.outputs)),
                "Leave --outputs out.");
  }
  const auto is_of_classes = [](SaveColumns group) { return group != SaveColumns::labels; };
  if (std::ranges::any_of(options.save, is_of_classes)) {
    throw Error(ErrorKind::usage, "a regression has no classes whose scores could be saved",
                "Use --save labels.");
  }
}

void check_outputs(std::span<const std::int64_t> shape, std::int64_t outputs) {
  const bool one_each = shape.size() == 1 && outputs == 1;
  if (one_each || (shape.size() == 2 && shape[1] == outputs)) return;
  throw Error(
      ErrorKind::model,
      format("the model's output is {}, expected {}[rows, {}] for the data set's {} outputs",
             to_string(shape), outputs == 1 ? "[rows] or " : "", outputs, outputs),
      "Check that model and data set belong together.");
}

// Columns ----------------------------------------------------------------------------------------

struct Column {
  predictions::ColumnSpec spec;
  // Fills `out`, which has room for all rows.
  void (*fill)(Rows rows, std::span<std::byte> out);
};

template <class T>
std::span<T> values_in(std::span<std::byte> out) {
  return {reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)};
}

void fill_index(Rows rows, std::span<std::byte> out) {
  std::ranges::transform(rows, values_in<std::int64_t>(out).begin(), [](const RegressionRow& row) {
    return static_cast<std::int64_t>(row.index);
  });
}

void fill_values(Rows rows, const float* RegressionRow::*values, std::span<std::byte> out) {
  auto place = values_in<float>(out).begin();
  for (const RegressionRow& row : rows) place = std::copy_n(row.*values, row.num_outputs, place);
}

void fill_targets(Rows rows, std::span<std::byte> out) {
  fill_values(rows, &RegressionRow::targets, out);
}

void fill_predictions(Rows rows, std::span<std::byte> out) {
  fill_values(rows, &RegressionRow::predictions, out);
}

// Squared error, mean over the outputs.
float loss_of(const RegressionRow& row) {
  if (!row.finite) return std::numeric_limits<float>::quiet_NaN();
  double sum = 0;
  for (std::int64_t i = 0; i < row.num_outputs; ++i) {
    const double error = double{row.predictions[i]} - double{row.targets[i]};
    sum += error * error;
  }
  return static_cast<float>(sum / static_cast<double>(row.num_outputs));
}

void fill_loss(Rows rows, std::span<std::byte> out) {
  std::ranges::transform(rows, values_in<float>(out).begin(), loss_of);
}

std::vector<Column> saved_columns(const TaskOptions& options) {
  if (options.save.empty()) return {};
  const std::int64_t outputs = options.metrics.num_classes;
  const Shape shape = outputs == 1 ? Shape{} : Shape{outputs};
  return {{{"index", DType::i64, {}}, fill_index},
          {{"label", DType::f32, shape}, fill_targets},
          {{"loss", DType::f32, {}}, fill_loss},
          {{"prediction", DType::f32, shape}, fill_predictions}};
}

std::vector<Column> kept_columns_of(const TaskOptions& options, bool needs_order) {
  if (!options.keep_rows && !needs_order) return {};
  const Shape shape{options.metrics.num_classes};
  return {{{"index", DType::i64, {}}, fill_index},
          {{"prediction", DType::f32, shape}, fill_predictions},
          {{"target", DType::f32, shape}, fill_targets}};
}

std::vector<predictions::ColumnSpec> specs_of(const std::vector<Column>& columns) {
  std::vector<predictions::ColumnSpec> specs;
  for (const Column& column : columns) specs.push_back(column.spec);
  return specs;
}

void record(Rows rows, const std::vector<Column>& columns, predictions::RecordBatch& records) {
  records.num_rows = std::ssize(rows);
  records.columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    records.columns[c].resize(to_size(records.num_rows * columns[c].spec.row_bytes()));
    columns[c].fill(rows, records.columns[c]);
  }
}

// The rows that columns of kept_columns_of() hold; they point into them.
std::vector<RegressionRow> kept_rows(const predictions::RecordBatch& kept, std::int64_t outputs) {
  const auto* const indices = reinterpret_cast<const std::int64_t*>(kept.columns.at(0).data());
  const auto* predictions = reinterpret_cast<const float*>(kept.columns.at(1).data());
  const auto* targets = reinterpret_cast<const float*>(kept.columns.at(2).data());
  std::vector<RegressionRow> rows;
  rows.reserve(to_size(kept.num_rows));
  for (std::int64_t i = 0; i < kept.num_rows; ++i) {
    rows.push_back(metrics::regression_row(static_cast<std::uint64_t>(indices[i]),
                                           {predictions, to_size(outputs)},
                                           {targets, to_size(outputs)}));
    predictions += outputs;
    targets += outputs;
  }
  return rows;
}

// Scoring ----------------------------------------------------------------------------------------

// What a task's scorers share.
struct Rules {
  explicit Rules(const TaskOptions& given)
      : options(given),
        target_position(position_of_target(given.targets)),
        metrics(given.metrics),
        columns(saved_columns(given)),
        kept(kept_columns_of(given, metrics.needs_order())) {}

  std::int64_t num_outputs() const { return options.metrics.num_classes; }

  TaskOptions options;
  std::size_t target_position = 0;
  metrics::MetricSet metrics;
  std::vector<Column> columns;
  std::vector<Column> kept;
};

class RegressionScorer : public BatchScorer {
 public:
  RegressionScorer(const Rules& rules, std::int64_t max_samples, const device::Device& device)
      : rules_(rules), pass_(rules.metrics), batch_(max_samples, rules.num_outputs(), device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceCounts& counts) override {
    check_output(batch);
    if (batch.targets.size() != rules_.options.targets.size()) {
      throw Error(ErrorKind::internal, format("{} targets in a batch, expected {}",
                                              batch.targets.size(), rules_.options.targets.size()));
    }
    pass_.enqueue(batch.first_index, batch.num_samples, batch.output,
                  batch.targets[rules_.target_position], counts, batch_);
  }

  void collect(CollectedBatch& collected) override {
    const Rows rows = batch_.rows();
    collected.not_finite.clear();
    for (const RegressionRow& row : rows) {
      if (!row.finite) collected.not_finite.push_back(static_cast<std::int64_t>(row.index));
    }
    record(rows, rules_.columns, collected.records);
    record(rows, rules_.kept, collected.kept);
  }

 private:
  void check_output(const ScoredBatch& batch) const {
    check_outputs(batch.output.shape, rules_.num_outputs());
    if (batch.output.shape[0] < batch.num_samples) {
      throw Error(ErrorKind::model, format("the model returned {} rows for a batch of {} samples",
                                           batch.output.shape[0], batch.num_samples));
    }
    if (batch.output.dtype != DType::f32) {
      throw Error(ErrorKind::model,
                  format("the model's output is {}, expected float32", name(batch.output.dtype)));
    }
  }

  const Rules& rules_;
  metrics::RegressionPass pass_;
  metrics::RegressionBatch batch_;
};

class Regression : public Task {
 public:
  explicit Regression(const TaskOptions& options) : rules_(options) { check_options(options); }

  std::shared_ptr<const exact::StateLayout> layout() const override {
    return rules_.metrics.layout();
  }

  std::vector<predictions::ColumnSpec> columns() const override { return specs_of(rules_.columns); }

  void check_output_shape(std::span<const std::int64_t> shape) const override {
    check_outputs(shape, rules_.num_outputs());
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    return std::make_unique<RegressionScorer>(rules_, max_samples, device);
  }

  metrics::Results finalize(const exact::State& state) const override {
    return rules_.metrics.finalize(state);
  }

  const std::vector<std::string>& metrics() const override {
    return rules_.metrics.options().names;
  }

  std::vector<predictions::ColumnSpec> kept_columns() const override {
    return specs_of(rules_.kept);
  }

  std::shared_ptr<const exact::StateLayout> layout_again() const override { return layout(); }

  void count_again(const predictions::RecordBatch& kept, metrics::RowWeights weights,
                   exact::State& state) const override {
    rules_.metrics.update(kept_rows(kept, rules_.num_outputs()), state, weights);
  }

  metrics::Results finalize_again(const exact::State& state) const override {
    return finalize(state);
  }

  std::int64_t num_pair_outputs() const override { return rules_.num_outputs(); }

  void pairs_of(const predictions::RecordBatch& kept, std::span<float> predictions,
                std::span<float> targets) const override {
    const auto rows = kept_rows(kept, rules_.num_outputs());
    fill_predictions(rows, std::as_writable_bytes(predictions));
    auto place = targets.begin();
    for (const RegressionRow& row : rows) {
      if (row.finite) {
        place = std::copy_n(row.targets, row.num_outputs, place);
      } else {
        place = std::fill_n(place, row.num_outputs, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }

 private:
  Rules rules_;
};

}  // namespace

std::unique_ptr<Task> make_regression(const TaskOptions& options) {
  return std::make_unique<Regression>(options);
}

}  // namespace tally::tasks
