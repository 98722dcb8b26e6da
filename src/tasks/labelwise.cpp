#include "labelwise.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/label_pass.hpp>

#include "label_columns.hpp"

namespace tally::tasks {
namespace {

bool is_wanted(SaveColumns group, const TaskOptions& options) {
  return std::ranges::find(options.save, group) != options.save.end();
}

void check_columns(const TaskOptions& options) {
  if (is_wanted(SaveColumns::logits, options) && options.outputs != metrics::OutputKind::logits) {
    throw Error(ErrorKind::usage,
                format("logits cannot be saved of a model that returns {}", name(options.outputs)),
                "Use --save probabilities.");
  }
  if (is_wanted(SaveColumns::topk, options)) {
    throw Error(ErrorKind::usage, format("the task {} has no topk to save", options.task),
                "Use --save probabilities.");
  }
}

std::size_t position_of_label(const TaskOptions& options) {
  const auto found = std::ranges::find(options.targets, "label");
  if (found == options.targets.end()) {
    throw Error(ErrorKind::dataset,
                format("the data set has the targets [{}], expected 'label' for {}",
                       fmt::join(options.targets, ", "), options.task));
  }
  return static_cast<std::size_t>(found - options.targets.begin());
}

metrics::MetricOptions metrics_of(const TaskOptions& options) {
  metrics::MetricOptions made = options.metrics;
  made.task = options.task;
  return made;
}

// Counting again keeps no confusion matrix.
metrics::MetricOptions without_matrix(metrics::MetricOptions options) {
  std::erase_if(options.names,
                [](const std::string& metric) { return metric.starts_with("confusion_"); });
  options.confusion_max_classes = 0;
  return options;
}

template <class Columns>
std::vector<predictions::ColumnSpec> specs_of(const Columns& columns) {
  std::vector<predictions::ColumnSpec> specs;
  for (const auto& column : columns) specs.push_back(column.spec);
  return specs;
}

// What a task's scorers share.
struct Rules {
  explicit Rules(const TaskOptions& given)
      : options(given),
        is_binary(given.task == "binary"),
        num_labels(is_binary ? 1 : given.metrics.num_classes),
        label_position(position_of_label(given)),
        metrics(metrics_of(given)),
        again(without_matrix(metrics.options())),
        columns(is_binary ? binary_columns(given.save)
                          : multilabel_columns(given.save, num_labels)) {
    if (given.keep_rows || metrics.needs_order()) kept = kept_label_columns(num_labels);
  }

  void check_shape(std::span<const std::int64_t> shape) const {
    const bool fits =
        is_binary ? shape.size() == 1 || (shape.size() == 2 && (shape[1] == 1 || shape[1] == 2))
                  : shape.size() == 2 && shape[1] == num_labels;
    if (fits) return;
    const std::string expected =
        is_binary ? "[rows], [rows, 1] or [rows, 2] for the task binary"
                  : format("[rows, {}] for the data set's {} labels", num_labels, num_labels);
    throw Error(ErrorKind::model,
                format("the model's output is {}, expected {}", to_string(shape), expected),
                "Check that model and data set belong together.");
  }

  TaskOptions options;
  bool is_binary;
  std::int64_t num_labels;
  std::size_t label_position;
  metrics::MetricSet metrics;
  metrics::MetricSet again;  // for counting kept rows
  std::vector<LabelColumn> columns;
  std::vector<LabelColumn> kept;
};

class LabelScorer : public BatchScorer {
 public:
  LabelScorer(const Rules& rules, std::int64_t max_samples, const device::Device& device)
      : rules_(rules),
        pass_(rules.metrics, rules.options.outputs),
        facts_(max_samples, rules.num_labels, device) {
    if (device.kind == DeviceKind::cuda && is_wanted(SaveColumns::logits, rules.options)) {
      const std::int64_t columns = rules.is_binary ? 2 : rules.num_labels;
      scores_ = device::HostBuffer(max_samples * columns * size_bytes(DType::f32), device);
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

  void collect(CollectedBatch& collected) override {
    const metrics::LabelFacts& facts = facts_.facts();
    check_kind(facts);
    collected.not_finite.clear();
    for (const metrics::LabelRow& row : facts.rows) {
      if (!row.finite) collected.not_finite.push_back(static_cast<std::int64_t>(row.index));
    }
    const metrics::MetricOptions& options = rules_.metrics.options();
    const LabelSource source{on_host_, facts.view(), options.ignore_index.value_or(0),
                             static_cast<float>(options.threshold)};
    record(source, rules_.columns, collected.records);
    record(source, rules_.kept, collected.kept);
  }

 private:
  void check_output(const ScoredBatch& batch) const {
    rules_.check_shape(batch.output.shape);
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
    Shape shape = batch.output.shape;
    shape[0] = batch.num_samples;
    const auto bytes = to_size(num_elements(shape) * size_bytes(DType::f32));
    stream.copy_to_host(scores_.data(), {batch.output.as<const std::byte>(), bytes});
    on_host_ = contiguous_view(scores_.data(), DType::f32, std::move(shape));
  }

  void check_kind(const metrics::LabelFacts& facts) const {
    if (!facts.wrong_kind_row) return;
    throw Error(ErrorKind::model,
                format("the model's outputs for sample {} are not {}",
                       first_index_ + *facts.wrong_kind_row, metrics::name(rules_.options.outputs)),
                "Say what the model returns with --outputs.");
  }

  static void record(const LabelSource& source, const std::vector<LabelColumn>& columns,
                     predictions::RecordBatch& records) {
    records.num_rows = std::ssize(source.rows.rows);
    records.columns.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      records.columns[c].resize(to_size(records.num_rows * columns[c].spec.row_bytes()));
      columns[c].fill(source, records.columns[c]);
    }
  }

  const Rules& rules_;
  metrics::LabelPass pass_;
  metrics::BatchLabels facts_;
  device::HostBuffer scores_;  // on a GPU, where a column is made of them
  std::int64_t first_index_ = 0;
  TensorView on_host_;  // the scores of the batch in hand
};

class Labelwise : public Task {
 public:
  explicit Labelwise(const TaskOptions& options) : rules_(options) { check_columns(options); }

  std::shared_ptr<const exact::StateLayout> layout() const override {
    return rules_.metrics.layout();
  }

  std::vector<predictions::ColumnSpec> columns() const override { return specs_of(rules_.columns); }

  void check_output_shape(std::span<const std::int64_t> shape) const override {
    rules_.check_shape(shape);
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    return std::make_unique<LabelScorer>(rules_, max_samples, device);
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

  std::shared_ptr<const exact::StateLayout> layout_again() const override {
    return rules_.again.layout();
  }

  void count_again(const predictions::RecordBatch& kept, metrics::RowWeights weights,
                   exact::State& state) const override {
    rules_.again.update(kept_label_rows(kept), state, weights);
  }

  metrics::Results finalize_again(const exact::State& state) const override {
    return rules_.again.finalize(state);
  }

  std::int64_t num_score_classes() const override { return rules_.num_labels; }

  void scores_of(const predictions::RecordBatch& kept, std::span<float> scores,
                 std::span<std::uint8_t> targets) const override {
    const metrics::LabelRows rows = kept_label_rows(kept);
    std::ranges::copy(rows.probabilities, scores.begin());
    std::ranges::copy(rows.targets, targets.begin());
    const auto labels = to_size(rules_.num_labels);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      if (rows.rows[i].finite) continue;
      std::ranges::fill(targets.subspan(i * labels, labels), metrics::kNotScored);
    }
  }

 private:
  Rules rules_;
};

}  // namespace

std::unique_ptr<Task> make_binary(const TaskOptions& options) {
  if (options.metrics.num_classes != 2) {
    throw Error(ErrorKind::dataset, format("the data set has {} classes, the task binary has 2",
                                           options.metrics.num_classes));
  }
  return std::make_unique<Labelwise>(options);
}

std::unique_ptr<Task> make_multilabel(const TaskOptions& options) {
  return std::make_unique<Labelwise>(options);
}

}  // namespace tally::tasks
