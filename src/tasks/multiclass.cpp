#include "multiclass.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/score_pass.hpp>

#include "columns.hpp"

namespace tally::tasks {
namespace {

std::size_t position_of_label(const std::vector<std::string>& targets) {
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

constexpr std::int64_t kRowBytes = sizeof(metrics::ClassRow);

metrics::MetricOptions without_matrix(metrics::MetricOptions options) {
  options.confusion_max_classes = 0;
  std::erase_if(options.names,
                [](const std::string& metric) { return metric.starts_with("confusion_"); });
  return options;
}

std::vector<Column> kept_columns_of(const TaskOptions& options, bool keeps_scores) {
  std::vector<Column> columns;
  if (options.keep_rows || keeps_scores) {
    columns.push_back({{"row", DType::u8, {kRowBytes}}, fill_row});
  }
  if (keeps_scores) {
    columns.push_back({{"scores", DType::f32, {options.metrics.num_classes}}, fill_probabilities});
  }
  return columns;
}

std::vector<predictions::ColumnSpec> specs_of(const std::vector<Column>& columns) {
  std::vector<predictions::ColumnSpec> specs;
  for (const Column& column : columns) specs.push_back(column.spec);
  return specs;
}

// What a task's scorers share.
struct Rules {
  explicit Rules(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given.targets)),
        metrics(given.metrics),
        again(without_matrix(metrics.options())),
        columns(classification_columns(given.save, given.metrics.num_classes)),
        kept(kept_columns_of(given, metrics.needs_order())) {}

  // Whether a column is made of the scores themselves.
  bool needs_scores() const {
    return metrics.needs_order() ||
           std::any_of(options.save.begin(), options.save.end(),
                       [](SaveColumns group) { return group != SaveColumns::labels; });
  }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet again;  // for counting kept rows
  std::vector<Column> columns;
  std::vector<Column> kept;
};

class MulticlassScorer : public BatchScorer {
 public:
  MulticlassScorer(const Rules& rules, std::int64_t max_samples, const device::Device& device)
      : rules_(rules),
        pass_(rules.metrics, rules.options.outputs, device),
        facts_(max_samples, device) {
    if (device.kind == DeviceKind::cuda && rules.needs_scores()) {
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

  void collect(CollectedBatch& collected) override {
    const metrics::RowFacts& facts = facts_.facts();
    check_kind(facts);
    collected.not_finite.clear();
    for (const metrics::ClassRow& row : facts.rows) {
      if (!row.finite) collected.not_finite.push_back(static_cast<std::int64_t>(row.index));
    }
    const ColumnSource source{on_host_, rules_.options.outputs, facts.rows};
    record(source, rules_.columns, collected.records);
    record(source, rules_.kept, collected.kept);
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

  void check_kind(const metrics::RowFacts& facts) const {
    if (!facts.wrong_kind_row) return;
    throw Error(ErrorKind::model,
                format("the model's outputs for sample {} are not {}",
                       first_index_ + *facts.wrong_kind_row, metrics::name(rules_.options.outputs)),
                "Say what the model returns with --outputs.");
  }

  static void record(const ColumnSource& source, const std::vector<Column>& columns,
                     predictions::RecordBatch& records) {
    records.num_rows = std::ssize(source.rows);
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
  explicit Multiclass(const TaskOptions& options) : rules_(options) { check_columns(options); }

  std::shared_ptr<const exact::StateLayout> layout() const override {
    return rules_.metrics.layout();
  }

  std::vector<predictions::ColumnSpec> columns() const override { return specs_of(rules_.columns); }

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
    rules_.again.update(rows_of(kept), state, weights);
  }

  metrics::Results finalize_again(const exact::State& state) const override {
    return rules_.again.finalize(state);
  }

  std::int64_t num_score_classes() const override { return rules_.options.metrics.num_classes; }

  void scores_of(const predictions::RecordBatch& kept, std::span<float> scores,
                 std::span<std::uint8_t> targets) const override {
    const auto& bytes = kept.columns.at(1);
    std::memcpy(scores.data(), bytes.data(), bytes.size());
    const auto rows = rows_of(kept);
    const auto classes = to_size(num_score_classes());
    std::ranges::fill(targets, std::uint8_t{0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto of_row = targets.subspan(i * classes, classes);
      if (rows[i].ignored || !rows[i].finite) {
        std::ranges::fill(of_row, std::uint8_t{2});
      } else {
        of_row[to_size(rows[i].label)] = 1;
      }
    }
  }

 private:
  static std::span<const metrics::ClassRow> rows_of(const predictions::RecordBatch& kept) {
    return {reinterpret_cast<const metrics::ClassRow*>(kept.columns.at(0).data()),
            to_size(kept.num_rows)};
  }

  Rules rules_;
};

}  // namespace

std::unique_ptr<Task> make_multiclass(const TaskOptions& options) {
  return std::make_unique<Multiclass>(options);
}

}  // namespace tally::tasks
