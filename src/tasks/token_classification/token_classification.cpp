// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/metrics/token_pass.hpp>
#include <tally/tasks/sequence_record.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"
#include "token_classification/tagged_sequences.hpp"
#include "token_task.hpp"

namespace tally::tasks {
namespace {

using metrics::TokenClassificationRecord;
using predictions::ColumnSpec;
using predictions::RecordBatch;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::vector<ColumnSpec> tag_columns() {
  return {{"correct", DType::i64, {}},     {"index", DType::i64, {}},
          {"label", DType::i32, {}, true}, {"loss", DType::f64, {}},
          {"nll", DType::f64, {}},         {"prediction", DType::i32, {}, true},
          {"tokens", DType::i64, {}}};
}

void append_row(const TokenClassificationRecord& row, RecordBatch& records) {
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < row.labels.size(); ++i) {
    if (row.labels[i] == row.predictions[i]) ++correct;
  }
  const double sum = row.finite ? row.loss : kNoNumber;
  std::size_t c = 0;
  append_value(records.columns[c++], correct);
  append_value(records.columns[c++], static_cast<std::int64_t>(row.index));
  append_values(row.labels, c++, records);
  append_value(records.columns[c++],
               row.labels.empty() ? kNoNumber : sum / static_cast<double>(row.tokens()));
  append_value(records.columns[c++], sum);
  append_values(row.predictions, c++, records);
  append_value(records.columns[c++], row.tokens());
}

// Of this a sequence is counted again. The loss is NaN where scores are not finite.
std::vector<ColumnSpec> retained_tags() {
  return {{"label", DType::i32, {}, true},
          {"loss", DType::f64, {}},
          {"prediction", DType::i32, {}, true}};
}

void retain(const TokenClassificationRecord& row, RecordBatch& retained) {
  append_values(row.labels, 0, retained);
  append_value(retained.columns[1], row.finite ? row.loss : kNoNumber);
  append_values(row.predictions, 2, retained);
}

// Makes room for rows of these columns.
void begin(const std::vector<ColumnSpec>& columns, std::int64_t num_rows, RecordBatch& records) {
  records.num_rows = num_rows;
  records.columns.resize(columns.size());
  records.lengths.resize(columns.size());
  for (auto& column : records.columns) column.clear();
  for (auto& lengths : records.lengths) lengths.clear();
}

struct TokenClassificationConfig {
  explicit TokenClassificationConfig(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(given.metrics),
        resample_metrics(without_matrix(metrics.options())) {
    check_token_options(given, "classes and sums over tokens");
    if (!metrics::lack_of_entities(given.metrics.class_names)) {
      tags.emplace(given.metrics.class_names);
    }
    if (!given.save.empty()) columns = tag_columns();
    if (given.keep_rows) retained = retained_tags();
  }

  std::int64_t num_classes() const { return options.metrics.num_classes; }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;      // for counting kept rows
  std::optional<metrics::EntityTags> tags;  // where the names of classes name entities
  std::vector<ColumnSpec> columns;
  std::vector<ColumnSpec> retained;
};

// Throws Error(model) if they are not scores of the classes at each place.
const TensorView& class_scores(std::span<const TensorView> outputs,
                               const TokenClassificationConfig& config) {
  const TensorView& scores = token_scores(outputs);
  const std::int64_t classes = config.num_classes();
  if (scores.shape.size() == 3 && scores.shape[1] > 0 && scores.shape[2] == classes) return scores;
  throw Error(ErrorKind::model,
              format("the model returned {}, expected [rows, places, {}]: a score for each of the "
                     "data set's {} classes at each place",
                     to_string(scores.shape), classes, classes),
              "Check that model and data set belong together.");
}

std::int64_t label_at(const TensorView& labels, std::size_t i) {
  return labels.dtype == DType::i32 ? labels.as<const std::int32_t>()[i]
                                    : labels.as<const std::int64_t>()[i];
}

class TokenClassificationScorer : public BatchScorer {
 public:
  TokenClassificationScorer(const TokenClassificationConfig& config, const device::Device& device)
      : config_(config),
        pass_({config.options.outputs, config.options.metrics.ignore_index.value()},
              device.kind == DeviceKind::cpu ? config.options.threads : 1),
        stats_(device),
        labels_(device),
        sequences_(config.tags) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& scores = class_scores(batch.outputs, config_);
    check_rows(batch);
    const TensorView& labels = label_of(batch, config_.options, config_.label_position);
    check_places(scores, labels);
    indices_ = indices_of(batch);
    counts_ = &counts;
    pass_.enqueue(batch.num_samples, scores, labels, counts.stream(), stats_);
    labels_.fetch({&labels, 1}, counts.stream());
  }

  // A GPU finds losses and predictions of tokens; the host counts them with the labels, for
  // entities are made of several.
  void collect(CollectedBatch& collected) override {
    const metrics::TokenStatistics& stats = stats_.stats();
    if (const auto sequence = stats.wrong_kind_sequence) {
      check_kind(0, indices_[to_size(*sequence)], config_.options.outputs);
    }
    sequences_.clear();
    for (std::size_t row = 0; row < indices_.size(); ++row) add_sequence(row, stats);
    const auto records = sequences_.records();
    config_.metrics.update(records, counts_->on_host());
    collected.not_finite = not_finite_of(records);
    begin(config_.columns, std::ssize(records), collected.records);
    begin(config_.retained, std::ssize(records), collected.retained);
    for (const TokenClassificationRecord& record : records) {
      if (!config_.columns.empty()) append_row(record, collected.records);
      if (!config_.retained.empty()) retain(record, collected.retained);
    }
  }

 private:
  void add_sequence(std::size_t row, const metrics::TokenStatistics& stats) {
    const auto places = stats.sequence(static_cast<std::int64_t>(row));
    const std::size_t first = row * places.size();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!places[i].scored) continue;
      const std::int64_t label = label_at(labels_.views()[0], first + i);
      sequences_.add_token(static_cast<std::int32_t>(label), places[i].prediction);
    }
    SequenceRecord sums;
    add_up(places, sums);
    sequences_.end_sequence(indices_[row], sums.loss, sums.finite != 0);
  }

  const TokenClassificationConfig& config_;
  metrics::TokenPass pass_;
  metrics::BatchTokens stats_;
  HostTensors labels_;
  TaggedSequences sequences_;
  std::vector<std::int64_t> indices_;
  metrics::DeviceAccumulator* counts_ = nullptr;  // of the batch in hand
};

// Whether all metrics that have a meaning are asked for, not some by name.
bool asks_for_all(const std::vector<std::string>& names) {
  return names.empty() || metrics::contains(names, "standard") || metrics::contains(names, "all");
}

class TokenClassification : public CountingTask<TokenClassificationConfig> {
 public:
  using CountingTask::CountingTask;

  // Records are of whole sequences, which are put back into order.
  Capabilities capabilities() const override { return {.is_order_independent = true}; }

  void check_outputs(std::span<const TensorView> outputs) const override {
    class_scores(outputs, config_);
  }

  std::vector<std::string> notes() const override {
    const auto lack = metrics::lack_of_entities(config_.options.metrics.class_names);
    if (!lack || !asks_for_all(config_.options.metrics.names)) return {};
    return {format("there are no metrics of entities: {}", *lack)};
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<TokenClassificationScorer>(config_, device);
  }

  metrics::PrecomputedUpdates resample_rows(const RecordBatch& retained) const override {
    const auto* label = reinterpret_cast<const std::int32_t*>(retained.columns.at(0).data());
    const auto* loss = reinterpret_cast<const double*>(retained.columns.at(1).data());
    const auto* prediction = reinterpret_cast<const std::int32_t*>(retained.columns.at(2).data());
    TaggedSequences sequences(config_.tags);
    for (std::size_t row = 0; row < to_size(retained.num_rows); ++row) {
      const std::int64_t tokens = retained.lengths.at(0)[row];
      for (std::int64_t i = 0; i < tokens; ++i) sequences.add_token(*label++, *prediction++);
      // Nothing that is counted again depends on the index.
      sequences.end_sequence(0, loss[row], !std::isnan(loss[row]));
    }
    const auto records = sequences.records();
    return {config_.resample_metrics, std::span<const TokenClassificationRecord>(records)};
  }
};

}  // namespace

std::unique_ptr<Task> make_token_classification(const TaskOptions& options) {
  return std::make_unique<TokenClassification>(options);
}

}  // namespace tally::tasks
