#include "multiclass.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "columns.hpp"

namespace tally::tasks {
namespace {

std::size_t label_position(const std::vector<std::string>& targets) {
  const auto found = std::find(targets.begin(), targets.end(), "label");
  if (found == targets.end()) {
    throw Error(ErrorKind::dataset,
                format("the data set has the targets [{}], expected 'label' for multiclass",
                       fmt::join(targets, ", ")));
  }
  return static_cast<std::size_t>(found - targets.begin());
}

void check_columns(const TaskOptions& options) {
  const bool wants_logits = std::find(options.save.begin(), options.save.end(),
                                      SaveColumns::logits) != options.save.end();
  if (wants_logits && options.outputs == metrics::OutputKind::probabilities) {
    throw Error(ErrorKind::usage, "logits cannot be saved of a model that returns probabilities",
                "Use --save probabilities.");
  }
}

class Multiclass : public Task {
 public:
  explicit Multiclass(const TaskOptions& options)
      : options_(options),
        label_position_(label_position(options.targets)),
        metrics_(options.metrics),
        columns_(classification_columns(options.save, options.metrics.num_classes)) {
    check_columns(options);
  }

  std::shared_ptr<const exact::StateLayout> layout() const override { return metrics_.layout(); }

  std::vector<predictions::ColumnSpec> columns() const override {
    std::vector<predictions::ColumnSpec> specs;
    for (const Column& column : columns_) specs.push_back(column.spec);
    return specs;
  }

  void check_output_shape(std::span<const std::int64_t> shape) const override {
    const std::int64_t classes = options_.metrics.num_classes;
    if (shape.size() == 2 && shape[1] == classes) return;
    throw Error(ErrorKind::model,
                format("the model's output is {}, expected [rows, {}] for the data set's {} "
                       "classes",
                       to_string(shape), classes, classes),
                "Check that model and data set belong together.");
  }

  void score(const ScoredBatch& batch, exact::State& state,
             predictions::RecordBatch& records) override {
    check_output(batch);
    const auto labels = labels_of(batch);
    metrics::examine_rows(batch.output, labels, options_.metrics.ignore_index, options_.outputs,
                          facts_);
    check_rows(batch.first_index);
    metrics_.update(batch.first_index, labels, facts_, state);
    record({batch.first_index, labels, batch.output, options_.outputs, facts_}, records);
  }

  metrics::Results finalize(const exact::State& state) const override {
    return metrics_.finalize(state);
  }

 private:
  void check_output(const ScoredBatch& batch) const {
    check_output_shape(batch.output.shape);
    if (batch.output.shape[0] < batch.num_samples) {
      throw Error(ErrorKind::model, format("the model returned {} rows for a batch of {} samples",
                                           batch.output.shape[0], batch.num_samples));
    }
    if (batch.output.dtype != DType::f32) {
      throw Error(ErrorKind::model,
                  format("the model's output is {}, expected float32", name(batch.output.dtype)));
    }
  }

  std::span<const std::int64_t> labels_of(const ScoredBatch& batch) const {
    if (batch.targets.size() != options_.targets.size()) {
      throw Error(ErrorKind::internal, format("{} targets in a batch, expected {}",
                                              batch.targets.size(), options_.targets.size()));
    }
    const TensorView& labels = batch.targets[label_position_];
    if (labels.dtype != DType::i64 || labels.shape.size() != 1 ||
        labels.shape[0] < batch.num_samples) {
      throw Error(ErrorKind::internal,
                  format("labels are {} {}, expected int64 of {} samples", name(labels.dtype),
                         to_string(labels.shape), batch.num_samples));
    }
    return {labels.as<const std::int64_t>(), to_size(batch.num_samples)};
  }

  void check_rows(std::int64_t first_index) const {
    if (facts_.non_finite_row) {
      throw Error(ErrorKind::numeric,
                  format("the model's output for sample {} holds NaN or Inf",
                         first_index + *facts_.non_finite_row),
                  "Check the weights, the precision and the input's normalisation.");
    }
    if (facts_.wrong_kind_row) {
      throw Error(ErrorKind::model,
                  format("the model's outputs for sample {} are not {}",
                         first_index + *facts_.wrong_kind_row, metrics::name(options_.outputs)),
                  "Say what the model returns with --outputs.");
    }
  }

  void record(const ColumnSource& source, predictions::RecordBatch& records) const {
    records.num_rows = checked_cast<std::int64_t>(source.labels.size());
    records.columns.resize(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      records.columns[c].resize(to_size(records.num_rows * columns_[c].spec.row_bytes()));
      columns_[c].fill(source, columns_[c].spec.row_shape, records.columns[c]);
    }
  }

  TaskOptions options_;
  std::size_t label_position_;
  metrics::MetricSet metrics_;
  std::vector<Column> columns_;
  metrics::RowFacts facts_;  // of the batch in hand; kept for its memory
};

}  // namespace

std::unique_ptr<Task> make_multiclass(const TaskOptions& options) {
  return std::make_unique<Multiclass>(options);
}

}  // namespace tally::tasks
