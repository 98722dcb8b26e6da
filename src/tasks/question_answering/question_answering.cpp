// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/device/buffer.hpp>
#include <tally/tasks/answers.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"

namespace tally::tasks {
namespace {

// WindowScorer::window() reads these targets by their place in this list.
constexpr std::array<std::string_view, 4> kTargets{"context_begin", "context_end", "token_begin",
                                                   "unit"};

// These are the settings that all scorers of the task share. A question is recounted from its
// record alone, which is retained as bytes.
struct QuestionAnsweringConfig {
  explicit QuestionAnsweringConfig(const TaskOptions& given)
      : options(given), metrics(given.metrics), resample_metrics(given.metrics) {
    if (!given.save.empty()) columns = answer_columns(given.answer_policy);
    if (given.keep_rows)
      retained = {{"answer", DType::u8, {sizeof(metrics::QuestionAnsweringRecord)}}};
    for (const std::string_view name : kTargets) {
      const auto found = std::ranges::find(given.targets, name);
      if (found == given.targets.end()) {
        throw Error(ErrorKind::dataset, format("the data set has no target '{}'", name));
      }
      targets.push_back(to_size(found - given.targets.begin()));
    }
  }

  TaskOptions options;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;
  std::vector<predictions::ColumnSpec> columns;
  std::vector<predictions::ColumnSpec> retained;
  std::vector<std::size_t> targets;  // of kTargets: places in the data set's
};

void check_answer_options(const TaskOptions& options) {
  if (options.outputs != metrics::OutputKind::logits) {
    throw Error(
        ErrorKind::usage,
        format("scores of answers are sums of logits, not of {}", metrics::name(options.outputs)),
        "Say --outputs logits to have the model's outputs taken as they are.");
  }
  if (std::ranges::any_of(options.save, [](auto group) { return group != SaveColumns::labels; })) {
    throw Error(ErrorKind::usage, "question answering saves answers only",
                "Use --save labels, or --save none.");
  }
}

// Start and end logits are two outputs, [rows, tokens] each, or both in one: [rows, tokens, 2].
// Throws Error(model) for others.
void check_logits(std::span<const TensorView> outputs) {
  const auto is_right = [&](const TensorView& output, std::size_t dimensions) {
    return output.dtype == DType::f32 && output.shape.size() == dimensions && output.shape[1] > 0;
  };
  const bool are_two = outputs.size() == 2 && is_right(outputs[0], 2) && is_right(outputs[1], 2) &&
                       outputs[0].shape == outputs[1].shape;
  const bool is_one = outputs.size() == 1 && is_right(outputs[0], 3) && outputs[0].shape[2] == 2;
  if (are_two || is_one) return;
  std::vector<std::string> found;
  for (const TensorView& output : outputs) {
    found.push_back(format("{} {}", to_string(output.shape), name(output.dtype)));
  }
  throw Error(ErrorKind::model,
              format("the model returned {}, expected start and end logits, [rows, tokens] each",
                     fmt::join(found, " and ")),
              "Name the two under outputs in its card (docs/model-card.md).");
}

class WindowScorer : public BatchScorer {
 public:
  WindowScorer(const QuestionAnsweringConfig& config, const device::Device& device)
      : config_(config), outputs_(device), targets_(device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    check_logits(batch.outputs);
    check_num_rows(batch.outputs.front().shape[0], batch.num_samples);
    // Samples sorted by length come in any order within a block, and then bring their indices.
    indices_.assign(batch.indices.begin(), batch.indices.end());
    for (std::int64_t i = std::ssize(indices_); i < batch.num_samples; ++i) {
      indices_.push_back(batch.first_index + i);
    }
    outputs_.fetch(batch.outputs, counts.stream());
    targets_.fetch(batch.targets, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite.clear();
    auto& rows = collected.retained;
    rows.num_rows = std::ssize(indices_);
    rows.columns.resize(1);
    rows.columns[0].clear();
    for (std::size_t row = 0; row < indices_.size(); ++row) {
      // The loop only collects spans: the windows of a question may lie on several ranks, and are
      // merged after it.
      const auto found =
          candidates_of(window(static_cast<std::int64_t>(row)), config_.options.answer_limits);
      if (!found.finite) collected.not_finite.push_back(indices_[row]);
      append_record(indices_[row], found, config_.options.answer_limits, rows.columns[0]);
    }
  }

 private:
  template <class T>
  std::int64_t target(std::size_t which, std::int64_t row) const {
    return targets_.views()[config_.targets[which]].template as<const T>()[row];
  }

  AnswerWindow window(std::int64_t row) {
    AnswerWindow window{.unit = target<std::int64_t>(3, row),
                        .context_begin = target<std::int32_t>(0, row),
                        .context_end = target<std::int32_t>(1, row),
                        .token_begin = target<std::int32_t>(2, row),
                        .start = logits(0, row),
                        .end = logits(1, row)};
    const std::int64_t tokens = std::ssize(window.start);
    // Only the output says how many tokens the model has scored, so that the data room cannot check
    // this.
    if (window.context_begin <= window.context_end && window.context_end <= tokens) return window;
    throw Error(ErrorKind::model,
                format("sample {} has its context at tokens {} to {}, the model returned logits of "
                       "{} tokens",
                       indices_[to_size(row)], window.context_begin, window.context_end, tokens),
                "Export a model that returns logits for each token, or prepare the data again.");
  }

  // Returns the logits of one row. Where both come in one tensor they lie alternately, and are
  // copied into a buffer for each of the two, valid until the next row.
  std::span<const float> logits(std::size_t which, std::int64_t row) {
    const auto& views = outputs_.views();
    const std::int64_t tokens = views[0].shape[1];
    if (views.size() == 2) {
      return {views[which].as<const float>() + row * tokens, to_size(tokens)};
    }
    auto& apart = apart_[which];
    apart.resize(to_size(tokens));
    const float* pairs = views[0].as<const float>() + row * tokens * 2;
    for (std::size_t i = 0; i < apart.size(); ++i) apart[i] = pairs[2 * i + which];
    return apart;
  }

  const QuestionAnsweringConfig& config_;
  HostTensors outputs_, targets_;
  std::vector<std::int64_t> indices_;
  std::array<std::vector<float>, 2> apart_;
};

class QuestionAnswering : public UnitCountingTask<QuestionAnsweringConfig,
                                                  metrics::QuestionAnsweringRecord, AnswerTask> {
 public:
  explicit QuestionAnswering(const TaskOptions& options) : UnitCountingTask(options) {
    check_answer_options(options);
  }

  std::vector<predictions::ColumnSpec> sample_columns() const override {
    return {candidates_column(config_.options.answer_limits)};
  }

  void check_outputs(std::span<const TensorView> outputs) const override { check_logits(outputs); }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t /*max_samples*/,
                                           const device::Device& device) const override {
    return std::make_unique<WindowScorer>(config_, device);
  }

  const AnswerLimits& limits() const override { return config_.options.answer_limits; }
  const AnswerPolicy& policy() const override { return config_.options.answer_policy; }
};

}  // namespace

std::unique_ptr<Task> make_question_answering(const TaskOptions& options) {
  return std::make_unique<QuestionAnswering>(options);
}

}  // namespace tally::tasks
