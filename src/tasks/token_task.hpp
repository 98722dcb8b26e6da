// SPDX-License-Identifier: Apache-2.0
// What tasks have in common that score the tokens of sequences, and the base of those where several
// sequences make a unit.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/token_pass.hpp>
#include <tally/tasks/sequence_record.hpp>
#include <tally/tasks/task.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"

namespace tally::tasks {

// float32 or bfloat16. Error(model) for other outputs, whatever their shape.
const TensorView& token_scores(std::span<const TensorView> outputs);
// Error(model) if scores [rows, places, …] and labels [rows, places] differ in their places.
void check_places(const TensorView& scores, const TensorView& labels);
// Of all samples of the batch.
std::vector<std::int64_t> indices_of(const ScoredBatch& batch);
// Error(usage) for columns of scores, where the task saves something else ("sums over tokens");
// Error(dataset) without an ignored index.
void check_token_options(const TaskOptions& options, std::string_view saved);

// Error(dataset) where a target is missing; Error(usage) for columns that there are not.
struct TokenConfig {
  // all_columns: of predictions.h5; row_bytes: of a unit that is retained; position_target: the
  // target that says which one of its unit a sequence is, empty where that is not asked.
  TokenConfig(const TaskOptions& given, std::vector<predictions::ColumnSpec> all_columns,
              std::size_t row_bytes, std::string_view position_target = {});

  TaskOptions options;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;
  std::vector<predictions::ColumnSpec> columns;
  std::vector<predictions::ColumnSpec> retained;
  std::size_t label = 0, unit = 0;      // which of the data set's targets these are
  std::optional<std::size_t> position;  // the same of position_target
};

// Error(model) if they are not scores of the vocabulary's tokens, at least, at each place.
void check_token_scores(std::span<const TensorView> outputs, const TokenConfig& config);
// num_scores: at each place, as many as there are tokens or more.
std::vector<std::string> vocabulary_notes(std::int64_t num_scores, const TokenConfig& config);
std::unique_ptr<BatchScorer> make_token_scorer(const TokenConfig& config,
                                               const device::Device& device);

// Config: a TokenConfig. Row: of a unit.
template <class Config, class Row>
class TokenTask : public UnitCountingTask<Config, Row> {
 public:
  using UnitCountingTask<Config, Row>::UnitCountingTask;

  std::vector<predictions::ColumnSpec> sample_columns() const override {
    return {sequence_column()};
  }
  void check_outputs(std::span<const TensorView> outputs) const override {
    check_token_scores(outputs, this->config_);
  }
  void bind_output_shapes(std::span<const TensorView> outputs) override {
    check_outputs(outputs);
    num_scores_ = outputs[0].shape[2];
  }
  std::optional<ScoredPlaces> scored_places() const override {
    return ScoredPlaces{this->config_.label, *this->config_.options.metrics.ignore_index};
  }
  std::vector<std::string> notes() const override {
    return vocabulary_notes(num_scores_, this->config_);
  }
  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return make_token_scorer(this->config_, device);
  }

 private:
  std::int64_t num_scores_ = 0;  // at each place
};

}  // namespace tally::tasks
