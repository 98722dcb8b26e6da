// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/decided_classes.hpp>
#include <tally/metrics/multilabel_pass.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"
#include "multilabel/multilabel_columns.hpp"
#include "predicted_classes.hpp"

namespace tally::tasks {
namespace {

// Throws Error(usage). Logits are made of the model's own scores, which must be logits then. "topk"
// ranks several classes that exclude each other, which neither task has.
void check_label_columns(const TaskOptions& options) {
  if (!has_scores(options)) return check_saves_no_scores(options);
  if (is_saved(SaveColumns::logits, options) && options.outputs != metrics::OutputKind::logits) {
    throw Error(ErrorKind::usage,
                format("logits cannot be saved of a model that returns {}", name(options.outputs)),
                "Use --save probabilities.");
  }
  if (is_saved(SaveColumns::topk, options)) {
    throw Error(ErrorKind::usage, format("the task {} has no topk to save", options.task),
                "Use --save probabilities.");
  }
}

// These are the settings that all scorers of the task share, and that outlive them.
struct MultilabelConfig {
  explicit MultilabelConfig(const TaskOptions& given)
      : options(given),
        is_binary(is_task(given.task, TaskKind::binary)),
        // The two classes of the task binary are one label that is set or not.
        num_labels(is_binary ? 1 : given.metrics.num_classes),
        label_position(position_of_label(given)),
        metrics(metric_options(given)),
        resample_metrics(without_matrix(metrics.options())),
        columns(is_binary ? binary_columns(given.save)
                          : multilabel_columns(given.save, num_labels)) {
    if (!has_scores(given)) leave_out_scores(columns);
    if (given.keep_rows || metrics.needs_order()) retained = retained_label_columns(num_labels);
  }

  // The shape of a row's decisions, as classes_in() takes it.
  std::int64_t num_decisions() const { return is_binary ? 0 : num_labels; }

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

  // Returns how many scores of a sample are brought to the host at most; 0 without a column that is
  // made of them. Probabilities come with the records of the pass, so that only logits need the
  // model's own scores.
  std::int64_t num_scores() const {
    if (!is_saved(SaveColumns::logits, options)) return 0;
    return is_binary ? 2 : num_labels;
  }

  TaskOptions options;
  bool is_binary;
  std::int64_t num_labels;
  std::size_t label_position;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;  // for counting kept rows
  std::vector<LabelColumn> columns;
  std::vector<LabelColumn> retained;
};

void collect_labels(const MultilabelConfig& config, const TensorView& scores,
                    const metrics::LabelStatistics& stats, CollectedBatch& collected) {
  collected.not_finite = not_finite_of(stats.rows);
  const metrics::MetricOptions& options = config.metrics.options();
  const LabelSource source{scores, stats.view(), options.ignore_index.value_or(0),
                           static_cast<float>(options.threshold)};
  record(source, std::ssize(stats.rows), config.columns, collected.records);
  record(source, std::ssize(stats.rows), config.retained, collected.retained);
}

class LabelScorer : public BatchScorer {
 public:
  LabelScorer(const MultilabelConfig& config, std::int64_t max_samples,
              const device::Device& device)
      : config_(config),
        pass_(config.metrics, config.options.outputs),
        stats_(max_samples, config.num_labels, device),
        scores_(max_samples, config.num_scores(), device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& scores = scores_in(batch.outputs);
    config_.check_shape(scores.shape);
    check_rows(batch);
    first_index_ = batch.first_index;
    const TensorView& labels = label_of(batch, config_.options, config_.label_position);
    pass_.enqueue(batch.first_index, batch.num_samples, scores, labels, counts, stats_);
    scores_.fetch(batch, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    const metrics::LabelStatistics& stats = stats_.stats();
    // Whether the values are of the expected kind is known only now that the stream has passed the
    // batch.
    check_kind(stats.wrong_kind_row, first_index_, config_.options.outputs);
    collect_labels(config_, scores_.view(), stats, collected);
  }

 private:
  const MultilabelConfig& config_;
  metrics::MultilabelPass pass_;
  metrics::BatchLabels stats_;
  HostScores scores_;
  std::int64_t first_index_ = 0;
};

// Of saved predictions without scores, on the CPU.
class DecisionScorer : public BatchScorer {
 public:
  explicit DecisionScorer(const MultilabelConfig& config) : config_(config) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& output = classes_in(batch.outputs, config_.num_decisions());
    check_rows(batch);
    const auto decisions =
        metrics::decided_classes(output, batch.first_index, batch.num_samples, kNumDecisions);
    metrics::compute_decided_labels(
        decisions, label_of(batch, config_.options, config_.label_position), batch.first_index,
        batch.num_samples, config_.options.metrics.ignore_index, stats_);
    config_.metrics.update(stats_.view(), counts.on_host());
  }

  void collect(CollectedBatch& collected) override {
    collect_labels(config_, no_scores_, stats_, collected);
  }

 private:
  static constexpr std::int64_t kNumDecisions = 2;  // a label is predicted, or not

  const MultilabelConfig& config_;
  TensorView no_scores_;
  metrics::LabelStatistics stats_;
};

class Labelwise : public CountingTask<MultilabelConfig>, public ClassScores {
 public:
  explicit Labelwise(const TaskOptions& options) : CountingTask(options) {
    check_label_columns(options);
  }

  Capabilities capabilities() const override { return {.class_scores = this}; }

  std::vector<std::string> notes() const override { return notes_without_scores(config_.metrics); }

  void check_outputs(std::span<const TensorView> outputs) const override {
    if (has_scores(config_.options)) return config_.check_shape(scores_in(outputs).shape);
    classes_in(outputs, config_.num_decisions());
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    if (!has_scores(config_.options)) return std::make_unique<DecisionScorer>(config_);
    return std::make_unique<LabelScorer>(config_, max_samples, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    return {config_.resample_metrics, retained_records(retained)};
  }

  std::int64_t num_score_classes() const override { return config_.num_labels; }

  void one_vs_rest_scores(const predictions::RecordBatch& retained, std::span<float> scores,
                          std::span<std::uint8_t> targets) const override {
    const metrics::MultilabelRecords rows = retained_records(retained);
    std::ranges::copy(rows.probabilities, scores.begin());
    std::ranges::copy(rows.targets, targets.begin());
    const auto labels = to_size(config_.num_labels);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      // A sample with NaN or Inf takes part in no curve, though its labels are known.
      if (rows.rows[i].finite) continue;
      std::ranges::fill(targets.subspan(i * labels, labels), metrics::kNotScored);
    }
  }
};

}  // namespace

std::unique_ptr<Task> make_binary(const TaskOptions& options) {
  // The number of classes is the data set's, so that the error names it and not an option.
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
