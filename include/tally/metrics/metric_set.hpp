// SPDX-License-Identifier: Apache-2.0
// Computes the metrics of one run: a MetricSet has one layout, one update per batch, one finalize.
// It knows no rank and no file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/base/task_traits.hpp>
#include <tally/exact/state.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>
#include <tally/metrics/results.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

struct MetricOptions {
  std::string task{task_name(TaskKind::multiclass)};
  std::int64_t num_classes = 0;  // of a regression: outputs
  std::optional<std::int64_t> ignore_index = std::nullopt;
  std::int64_t confusion_max_classes = 2048;
  // Metrics asked for; "standard" stands for the standard set, which an empty list means too, "all"
  // for everything that has a meaning, and "none" for nothing.
  std::vector<std::string> names = {};
  Definitions definitions = Definitions::torchmetrics;
  std::int64_t calibration_bins = 15;
  double label_smoothing = 0;              // of the loss, in [0, 1)
  std::vector<double> class_weights = {};  // of the loss, [classes]; empty: all 1
  // Labels that are judged one by one (binary, multilabel) are predicted where their probability,
  // as float32, is above it.
  double threshold = 0.5;
  bool maps = false;         // of a regression of one output: its values are pixels of images
  bool no_answer = false;    // of questions: some may have no answer
  bool has_margins = false;  // of them: their scores for no answer are known
  std::vector<std::string> class_names = {};  // of tags of tokens: entities are told by them
  // False where only predicted classes are known: nothing is then counted that scores decide.
  bool has_scores = true;
  // Several classes may be right for a sample (multiclass); scores choose the one that is its
  // label.
  bool has_label_sets = false;
};

// A metric as `--help` lists it.
struct MetricDescription {
  std::string_view name;        // or its form: "accuracy_top<k>"
  std::string_view definition;  // one line
  bool standard = true;         // part of the standard set
  // Of a form: the metric of the standard set that has it; none if empty.
  std::string_view standard_form = {};
  bool less_is_better = false;
  // Made of all scores in order, after the loop (room `distributed_metrics`): nothing is counted
  // for it.
  bool needs_order = false;
  // Samples without finite outputs have no part in it; in other metrics they count as wrong.
  bool leaves_out_not_finite = false;
  bool is_table = false;  // no single number
  // Predicted classes alone do not give it.
  bool needs_scores = false;
  // It depends on which class is the label of a sample that is predicted wrong. Of label sets only
  // scores tell that.
  bool needs_label = false;
};
// Of one metric, by its full name; null if the task has no such metric.
std::optional<MetricDescription> description_of(std::string_view task, std::string_view metric);
// All metrics of a task that `--metrics` takes, in report order. Error(usage) for an unknown task.
std::vector<MetricDescription> known_metrics(std::string_view task);

class Family;
struct RowCounters;
// Offset in a State of counts that a run does not keep: where counters of families begin.
inline constexpr std::int64_t kNotKept = -1;

class MetricSet {
 public:
  // Error(usage) names an unknown metric and lists the known ones, or one that was asked for and
  // has no meaning with these options.
  explicit MetricSet(MetricOptions options);
  ~MetricSet();

  // As given, but with the full name of every metric that is wanted.
  const MetricOptions& options() const { return options_; }
  bool is_wanted(std::string_view metric) const;
  // Metrics that were asked for, but not by name, and are left out for lack of scores.
  const std::vector<std::string>& without_scores() const { return without_scores_; }
  // Whether a metric that is wanted is made of all scores in order.
  bool needs_order() const;
  std::shared_ptr<const exact::StateLayout> layout() const;
  // Adds records of one kind, one after the other. Sums in a state that was canonical are canonical
  // again, so any number of updates may follow one another.
  template <std::ranges::contiguous_range Records>
  void update(const Records& records, exact::State& state) const {
    add(std::span<const std::ranges::range_value_t<Records>>(records), state);
  }
  void update(const MultilabelRecords& rows, exact::State& state) const;
  // Where the counts of this layout lie: for kernels.
  const RowCounters& counters() const;
  // Pure; canonical state. Metrics in report order, only those wanted, each with Wilson's interval
  // where it is a proportion; per_class always.
  Results finalize(const exact::State& state) const;

 private:
  // For each kind of record instantiated in one body: in that of the family that alone counts it,
  // or in metric_set.cpp.
  template <class Record>
  void add(std::span<const Record> records, exact::State& state) const;

  MetricOptions options_;
  std::vector<std::string> without_scores_;
  std::shared_ptr<exact::StateLayout> layout_;
  std::unique_ptr<RowCounters> counters_;
  std::vector<std::unique_ptr<Family>> families_;
};

}  // namespace tally::metrics
