// SPDX-License-Identifier: Apache-2.0
#include "task_factories.hpp"

#include <algorithm>
#include <cstring>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/metrics/decided_classes.hpp>
#include <tally/metrics/multiclass_pass.hpp>

#include "batch_tensors.hpp"
#include "counting_task.hpp"
#include "multiclass/best_right_classes.hpp"
#include "multiclass/multiclass_columns.hpp"
#include "predicted_classes.hpp"

namespace tally::tasks {
namespace {

// The softmax has lost the constant that all logits of a sample share, so that logits cannot be
// computed from probabilities. Log-probabilities are accepted: they are logits, too.
void check_class_columns(const TaskOptions& options) {
  if (!has_scores(options)) check_saves_no_scores(options);
  if (is_saved(SaveColumns::logits, options) &&
      options.outputs == metrics::OutputKind::probabilities) {
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

// These are the settings that all scorers of the task share, and that outlive them.
struct MulticlassConfig {
  explicit MulticlassConfig(const TaskOptions& given)
      : options(given),
        label_position(position_of_label(given)),
        metrics(metric_options(given)),
        // The options of `metrics` have full names, so that both sets hold the same metrics.
        resample_metrics(without_matrix(metrics.options())),
        columns(class_columns(given.save, given.metrics.num_classes, has_scores(given))) {
    // Curves are made of retained scores, also where nothing is recounted.
    if (given.keep_rows || metrics.needs_order()) {
      retained = retained_class_columns(given.metrics.num_classes, metrics.needs_order());
    }
  }

  // Returns how many scores of a sample the columns are made of; 0 where they are made of records
  // alone. "topk", "probabilities", "logits" and the retained scores need them.
  std::int64_t num_scores() const {
    const bool saved = std::ranges::any_of(
        options.save, [](SaveColumns group) { return group != SaveColumns::labels; });
    return saved || metrics.needs_order() ? options.metrics.num_classes : 0;
  }

  TaskOptions options;
  std::size_t label_position = 0;
  metrics::MetricSet metrics;
  metrics::MetricSet resample_metrics;  // for counting kept rows
  std::vector<ClassColumn> columns;
  std::vector<ClassColumn> retained;
};

class MulticlassScorer : public BatchScorer {
 public:
  MulticlassScorer(const MulticlassConfig& config, std::int64_t max_samples,
                   const device::Device& device)
      : config_(config),
        pass_(config.metrics, config.options.outputs, device),
        stats_(max_samples, device),
        scores_(max_samples, config.num_scores(), device) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& scores = scores_in(batch.outputs);
    check_classes(scores.shape, config_.options.metrics.num_classes);
    check_rows(batch);
    first_index_ = batch.first_index;
    const TensorView labels = labels_of(batch, scores);
    // On a GPU the pass counts there, and only records are brought to the host; scores follow where
    // columns need them.
    pass_.enqueue(batch.first_index, batch.num_samples, scores, labels, counts, stats_);
    scores_.fetch(batch, counts.stream());
  }

  void collect(CollectedBatch& collected) override {
    const metrics::RowStatistics& stats = stats_.stats();
    check_kind(stats.wrong_kind_row, first_index_, config_.options.outputs);
    collected.not_finite = not_finite_of(stats.rows);
    const ClassSource source{scores_.view(), config_.options.outputs, stats.rows};
    record(source, std::ssize(stats.rows), config_.columns, collected.records);
    record(source, std::ssize(stats.rows), config_.retained, collected.retained);
  }

 private:
  TensorView labels_of(const ScoredBatch& batch, const TensorView& scores) {
    const TensorView& own = label_of(batch, config_.options, config_.label_position);
    if (!config_.options.right_classes) return own;
    best_labels_ = best_right_classes(batch, scores, own, config_.options.right_classes);
    return contiguous_view(best_labels_.data(), DType::i64, {batch.num_samples});
  }

  const MulticlassConfig& config_;
  std::vector<std::int64_t> best_labels_;  // where several classes may be right
  metrics::MulticlassPass pass_;
  metrics::BatchStatistics stats_;
  HostScores scores_;
  std::int64_t first_index_ = 0;
};

// Of saved predictions without scores, on the CPU.
class ClassesScorer : public BatchScorer {
 public:
  explicit ClassesScorer(const MulticlassConfig& config) : config_(config) {}

  void enqueue(const ScoredBatch& batch, metrics::DeviceAccumulator& counts) override {
    const TensorView& output = classes_in(batch.outputs, 0);
    check_rows(batch);
    const auto& options = config_.options;
    const auto classes = metrics::decided_classes(output, batch.first_index, batch.num_samples,
                                                  options.metrics.num_classes);
    const auto labels = labels_of(batch, classes);
    rows_ =
        metrics::decided_records(classes, labels, batch.first_index, options.metrics.ignore_index);
    config_.metrics.update(rows_, counts.on_host());
  }

  void collect(CollectedBatch& collected) override {
    collected.not_finite = not_finite_of(rows_);
    const ClassSource source{no_scores_, config_.options.outputs, rows_};
    record(source, std::ssize(rows_), config_.columns, collected.records);
    record(source, std::ssize(rows_), config_.retained, collected.retained);
  }

 private:
  std::vector<std::int64_t> labels_of(const ScoredBatch& batch,
                                      std::span<const std::int32_t> classes) const {
    const TensorView& own = label_of(batch, config_.options, config_.label_position);
    const auto& right = config_.options.right_classes;
    if (right) return predicted_right_classes(batch, classes, own, right);
    const auto* const labels = own.as<const std::int64_t>();
    return {labels, labels + batch.num_samples};
  }

  const MulticlassConfig& config_;
  TensorView no_scores_;
  std::vector<metrics::MulticlassRecord> rows_;
};

class Multiclass : public CountingTask<MulticlassConfig>, public ClassScores {
 public:
  explicit Multiclass(const TaskOptions& options) : CountingTask(options) {
    check_class_columns(options);
  }

  Capabilities capabilities() const override { return {.class_scores = this}; }

  std::vector<std::string> notes() const override { return notes_without_scores(config_.metrics); }

  void check_outputs(std::span<const TensorView> outputs) const override {
    if (!has_scores(config_.options)) {
      classes_in(outputs, 0);
      return;
    }
    check_classes(scores_in(outputs).shape, config_.options.metrics.num_classes);
  }

  std::unique_ptr<BatchScorer> make_scorer(std::int64_t max_samples,
                                           const device::Device& device) const override {
    if (!has_scores(config_.options)) return std::make_unique<ClassesScorer>(config_);
    return std::make_unique<MulticlassScorer>(config_, max_samples, device);
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    return {config_.resample_metrics, rows_of(retained)};
  }

  std::int64_t num_score_classes() const override { return config_.options.metrics.num_classes; }

  void one_vs_rest_scores(const predictions::RecordBatch& retained, std::span<float> scores,
                          std::span<std::uint8_t> targets) const override {
    // Column 1 is "scores" of retained_class_columns(), [rows, classes], already as probabilities.
    const auto& bytes = retained.columns.at(1);
    std::memcpy(scores.data(), bytes.data(), bytes.size());
    const auto rows = rows_of(retained);
    const auto classes = to_size(num_score_classes());
    std::ranges::fill(targets, std::uint8_t{0});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto of_row = targets.subspan(i * classes, classes);
      // Such a sample takes part in no curve of any class: 2 is "not scored".
      if (rows[i].ignored || !rows[i].finite) {
        std::ranges::fill(of_row, std::uint8_t{2});
      } else {
        of_row[to_size(rows[i].label)] = 1;
      }
    }
  }

 private:
  static std::span<const metrics::MulticlassRecord> rows_of(
      const predictions::RecordBatch& retained) {
    return {reinterpret_cast<const metrics::MulticlassRecord*>(retained.columns.at(0).data()),
            to_size(retained.num_rows)};
  }
};

}  // namespace

std::unique_ptr<Task> make_multiclass(const TaskOptions& options) {
  return std::make_unique<Multiclass>(options);
}

}  // namespace tally::tasks
