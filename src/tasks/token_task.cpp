// SPDX-License-Identifier: Apache-2.0
#include "token_task.hpp"

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/tasks/sequence_record.hpp>

namespace tally::tasks {
namespace {

std::size_t target_named(const TaskOptions& options, std::string_view name) {
  const auto found = std::ranges::find(options.targets, name);
  if (found != options.targets.end()) return to_size(found - options.targets.begin());
  throw Error(ErrorKind::dataset, format("the data set has no target '{}'", name));
}

class TokenScorer : public BatchScorer {
 public:
  TokenScorer(const TokenConfig& config, const device::Device& device)
      : config_(config),
        pass_({config.options.outputs, config.options.metrics.ignore_index.value()},
              device.kind == DeviceKind::cpu ? config.options.threads : 1),
        stats_(device),
        targets_(device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    check_token_scores(batch.outputs, config_);
    check_rows(batch);
    const TensorView& labels = label_of(batch, config_.options, config_.label);
    check_places(batch.outputs[0], labels);
    indices_ = indices_of(batch);
    pass_.enqueue(batch.num_samples, batch.outputs[0], labels, counts.stream(), stats_);
    std::vector<TensorView> places{batch.targets[config_.unit]};
    if (config_.position) places.push_back(batch.targets[*config_.position]);
    targets_.fetch(places, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    const metrics::TokenStatistics& stats = stats_.stats();
    if (stats.wrong_kind_sequence) {
      check_kind(0, indices_[to_size(*stats.wrong_kind_sequence)], config_.options.outputs);
    }
    collected.not_finite.clear();
    auto& retained = collected.retained;
    retained.num_rows = std::ssize(indices_);
    retained.columns.resize(1);
    retained.columns[0].clear();
    for (std::size_t row = 0; row < indices_.size(); ++row) {
      SequenceRecord record{.index = indices_[row], .unit = target<std::int64_t>(0, row)};
      if (config_.position) record.position = target<std::int32_t>(1, row);
      add_up(stats.sequence(static_cast<std::int64_t>(row)), record);
      if (record.finite == 0) collected.not_finite.push_back(record.index);
      append_record(record, retained.columns[0]);
    }
  }

 private:
  template <class T>
  std::int64_t target(std::size_t which, std::size_t row) const {
    return targets_.views()[which].template as<const T>()[row];
  }

  const TokenConfig& config_;
  metrics::TokenPass pass_;
  metrics::BatchTokens stats_;
  HostTensors targets_;
  std::vector<std::int64_t> indices_;
};

}  // namespace

const TensorView& token_scores(std::span<const TensorView> outputs) {
  const TensorView& only = only_output(outputs);
  return only.dtype == DType::bf16 ? only : scores_in(outputs);
}

void check_places(const TensorView& scores, const TensorView& labels) {
  if (scores.shape[1] == labels.shape.at(1)) return;
  throw Error(ErrorKind::model,
              format("the model returned scores of {} places, /targets/label has {}",
                     scores.shape[1], labels.shape[1]),
              "Export a model that returns scores at each place of its input.");
}

std::vector<std::int64_t> indices_of(const ScoredBatch& batch) {
  std::vector<std::int64_t> indices(batch.indices.begin(), batch.indices.end());
  for (std::int64_t i = std::ssize(indices); i < batch.num_samples; ++i) {
    indices.push_back(batch.first_index + i);
  }
  return indices;
}

void check_token_options(const TaskOptions& options, std::string_view saved) {
  if (std::ranges::any_of(options.save, [](auto group) { return group != SaveColumns::labels; })) {
    throw Error(ErrorKind::usage,
                format("the task {} saves {}, and no scores", options.task, saved),
                "Use --save labels, or --save none.");
  }
  if (!options.metrics.ignore_index) {
    throw Error(ErrorKind::dataset, format("the task {} needs an ignore_index", options.task));
  }
}

TokenConfig::TokenConfig(const TaskOptions& given, std::vector<predictions::ColumnSpec> all_columns,
                         std::size_t row_bytes, std::string_view position_target)
    : options(given),
      metrics(given.metrics),
      resample_metrics(given.metrics),
      label(target_named(given, "label")),
      unit(target_named(given, "unit")) {
  check_token_options(given, "sums over tokens");
  if (!given.save.empty()) columns = std::move(all_columns);
  if (given.keep_rows) retained = {{"unit", DType::u8, {checked_cast<std::int64_t>(row_bytes)}}};
  if (!position_target.empty()) position = target_named(given, position_target);
}

void check_token_scores(std::span<const TensorView> outputs, const TokenConfig& config) {
  const TensorView& scores = token_scores(outputs);
  const std::int64_t vocabulary = config.options.metrics.num_classes;
  if (scores.shape.size() == 3 && scores.shape[1] > 0 && scores.shape[2] >= vocabulary) return;
  throw Error(ErrorKind::model,
              format("the model returned {}, expected [rows, places, {} or more]: a score for each "
                     "token of the data set's vocabulary at each place",
                     to_string(scores.shape), vocabulary),
              "Check that model and tokenizer belong together.");
}

std::vector<std::string> vocabulary_notes(std::int64_t num_scores, const TokenConfig& config) {
  const std::int64_t vocabulary = config.options.metrics.num_classes;
  if (num_scores <= vocabulary) return {};
  return {
      format("the model scores {} tokens, the data set's vocabulary has {}: metrics mean "
             "something only if both number the same tokens alike",
             num_scores, vocabulary)};
}

std::unique_ptr<BatchScorer> make_token_scorer(const TokenConfig& config,
                                               const device::Device& device) {
  return std::make_unique<TokenScorer>(config, device);
}

}  // namespace tally::tasks
