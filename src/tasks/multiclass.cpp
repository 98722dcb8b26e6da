#include "multiclass.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/score_pass.hpp>

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

void check_classes(std::span<const std::int64_t> shape, std::int64_t classes) {
  if (shape.size() == 2 && shape[1] == classes) return;
  throw Error(ErrorKind::model,
              format("the model's output is {}, expected [rows, {}] for the data set's {} classes",
                     to_string(shape), classes, classes),
              "Check that model and data set belong together.");
}

// What a task's scorers share.
struct Rules {
  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  std::vector<Column> columns;

  // Whether a column is made of the scores themselves.
  bool keeps_scores() const {
    return std::any_of(options.save.begin(), options.save.end(),
                       [](SaveColumns group) { return group != SaveColumns::labels; });
  }
};

class MulticlassScorer : public BatchScorer {
 public:
  MulticlassScorer(const Rules& rules, std::int64_t max_samples, const device::Device& device)
      : rules_(rules), pass_(rules.metrics, rules.options.outputs), facts_(max_samples, device) {
    if (device.kind == DeviceKind::cuda && rules.keeps_scores()) {
      scores_ = device::HostBuffer(
          max_samples * rules.options.metrics.num_classes * size_bytes(DType::f32), device);
    }
  }

  void enqueue(const ScoredBatch& batch, metrics::DeviceCounts& counts) override {
    check_output(batch);
    first_index_ = batch.first_index;
    pass_.enqueue(batch.first_index, batch.num_samples, batch.output, labels_of(batch), counts,
                  facts_);
    on_host_ = batch.output;
    if (scores_.data() != nullptr) fetch_scores(batch, counts.stream());
  }

  void collect(predictions::RecordBatch& records) override {
    const metrics::RowFacts& facts = facts_.facts();
    check_rows(facts);
    record({first_index_, facts_.labels(), on_host_, rules_.options.outputs, facts}, records);
  }

 private:
  void check_output(const ScoredBatch& batch) const {
    check_classes(batch.output.shape, rules_.options.metrics.num_classes);
    if (batch.output.shape[0] < batch.num_samples) {
      throw Error(ErrorKind::model, format("the model returned {} rows for a batch of {} samples",
                                           batch.output.shape[0], batch.num_samples));
    }
    if (batch.output.dtype != DType::f32) {
      throw Error(ErrorKind::model,
                  format("the model's output is {}, expected float32", name(batch.output.dtype)));
    }
  }

  const TensorView& labels_of(const ScoredBatch& batch) const {
    if (batch.targets.size() != rules_.options.targets.size()) {
      throw Error(ErrorKind::internal, format("{} targets in a batch, expected {}",
                                              batch.targets.size(), rules_.options.targets.size()));
    }
    return batch.targets[rules_.label_position];
  }

  void fetch_scores(const ScoredBatch& batch, const device::Stream& stream) {
    const std::int64_t classes = batch.output.shape[1];
    const auto bytes = to_size(batch.num_samples * classes * size_bytes(DType::f32));
    stream.copy_to_host(scores_.data(), {batch.output.as<const std::byte>(), bytes});
    on_host_ = contiguous_view(scores_.data(), DType::f32, {batch.num_samples, classes});
  }

  void check_rows(const metrics::RowFacts& facts) const {
    if (facts.non_finite_row) {
      throw Error(ErrorKind::numeric,
                  format("the model's output for sample {} holds NaN or Inf",
                         first_index_ + *facts.non_finite_row),
                  "Check the weights, the precision and the input's normalisation.");
    }
    if (facts.wrong_kind_row) {
      throw Error(
          ErrorKind::model,
          format("the model's outputs for sample {} are not {}",
                 first_index_ + *facts.wrong_kind_row, metrics::name(rules_.options.outputs)),
          "Say what the model returns with --outputs.");
    }
  }

  void record(const ColumnSource& source, predictions::RecordBatch& records) const {
    const auto& columns = rules_.columns;
    records.num_rows = checked_cast<std::int64_t>(source.labels.size());
    records.columns.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      records.columns[c].resize(to_size(records.num_rows * columns[c].spec.row_bytes()));
      columns[c].fill(source, columns[c].spec.row_shape, records.columns[c]);
    }
  }

  const Rules& rules_;
  metrics::ScorePass pass_;
  metrics::BatchFacts facts_;
  device::HostBuffer scores_;  // on a GPU, where columns are made of them
  std::int64_t first_index_ = 0;
  TensorView on_host_;  // the scores of the batch in hand
};

class Multiclass : public Task {
 public:
  explicit Multiclass(const TaskOptions& options)
      : rules_{options, label_position(options.targets), metrics::MetricSet(options.metrics),
               classification_columns(options.save, options.metrics.num_classes)} {
    check_columns(options);
  }

  std::shared_ptr<const exact::StateLayout> layout() const override {
    return rules_.metrics.layout();
  }

  std::vector<predictions::ColumnSpec> columns() const override {
    std::vector<predictions::ColumnSpec> specs;
    for (const Column& column : rules_.columns) specs.push_back(column.spec);
    return specs;
  }

  void check_output_shape(std::span<const std::int64_t> shape) const override {
    check_classes(shape, rules_.options.metrics.num_classes);
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    return std::make_unique<MulticlassScorer>(rules_, max_samples, device);
  }

  metrics::Results finalize(const exact::State& state) const override {
    return rules_.metrics.finalize(state);
  }

 private:
  Rules rules_;
};

}  // namespace

std::unique_ptr<Task> make_multiclass(const TaskOptions& options) {
  return std::make_unique<Multiclass>(options);
}

}  // namespace tally::tasks
