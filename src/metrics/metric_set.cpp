// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/metric_set.hpp>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "count_records.hpp"
#include "family.hpp"
#include "metric_selection.hpp"
#include "registry.hpp"

namespace tally::metrics {
namespace {

bool is_needed(const FamilyEntry& family, const MetricOptions& options) {
  const auto lacks = [&](const MetricDescription& metric) { return lacks_scores(metric, options); };
  if (family.kept == Kept::always) {
    return family.metrics.empty() || !std::ranges::all_of(family.metrics, lacks);
  }
  return std::ranges::any_of(options.names, [&](const std::string& name) {
    return std::ranges::any_of(family.metrics, [&](const MetricDescription& metric) {
      return matches(name, metric.name);
    });
  });
}

// They would change nothing, though they should.
void refuse_options_of_scores(const MetricOptions& options) {
  const auto refuse = [](std::string_view option) {
    throw Error(
        ErrorKind::usage,
        format("--{} needs scores, of which there are none: only predicted classes", option),
        format("Leave --{} out.", option));
  };
  if (options.threshold != MetricOptions{}.threshold) refuse("threshold");
  if (options.label_smoothing > 0) refuse("label-smoothing");
  if (!options.class_weights.empty()) refuse("class-weights");
}

void check_options(const MetricOptions& options) {
  const TaskTraits& task = task_traits(options.task);
  if (!task.has_threshold && options.threshold != MetricOptions{}.threshold) {
    throw Error(ErrorKind::usage, format("the task {} knows no threshold", options.task));
  }
  if (!task.has_loss_options && (options.label_smoothing > 0 || !options.class_weights.empty())) {
    throw Error(ErrorKind::usage,
                format("the task {} knows no label smoothing and no class weights", options.task));
  }
  if (!options.has_scores) refuse_options_of_scores(options);
  const auto weights = options.class_weights.size();
  if (options.num_classes >= (task.has_classes ? 1 : 0) &&
      (weights == 0 || weights == static_cast<std::size_t>(options.num_classes))) {
    return;
  }
  throw Error(ErrorKind::internal,
              format("metrics of {} classes with {} class weights", options.num_classes, weights));
}

void add_wilson(std::vector<MetricValue>& metrics) {
  for (MetricValue& metric : metrics) {
    if (metric.proportion) metric.interval = wilson(*metric.proportion);
  }
}

}  // namespace

std::vector<MetricDescription> known_metrics(std::string_view task) {
  std::vector<MetricDescription> metrics;
  for (const FamilyEntry& family : families_of(task)) {
    metrics.insert(metrics.end(), family.metrics.begin(), family.metrics.end());
  }
  return metrics;
}

std::optional<MetricDescription> description_of(std::string_view task, std::string_view metric) {
  std::optional<MetricDescription> of_form;
  for (const MetricDescription& known : known_metrics(task)) {
    if (known.name == metric) return known;
    if (matches(metric, known.name)) of_form = known;
  }
  return of_form;
}

MetricSet::MetricSet(MetricOptions options)
    : options_(std::move(options)),
      layout_(std::make_shared<exact::StateLayout>()),
      counters_(std::make_unique<RowCounters>()) {
  const std::vector<FamilyEntry> known = families_of(options_.task);
  check_options(options_);
  WantedMetrics wanted = wanted_metrics(options_, known);
  options_.names = std::move(wanted.names);
  without_scores_ = std::move(wanted.without_scores);
  for (const FamilyEntry& entry : known) {
    if (!is_needed(entry, options_)) continue;
    families_.push_back(entry.make(options_));
    families_.back()->declare(*layout_, *counters_);
  }
}

MetricSet::~MetricSet() = default;

bool MetricSet::is_wanted(std::string_view metric) const {
  return contains(options_.names, metric);
}

bool MetricSet::needs_order() const {
  return std::ranges::any_of(options_.names, [&](const std::string& name) {
    return description_of(options_.task, name).value().needs_order;
  });
}

std::shared_ptr<const exact::StateLayout> MetricSet::layout() const { return layout_; }

const RowCounters& MetricSet::counters() const { return *counters_; }

template void MetricSet::add(std::span<const MulticlassRecord>, exact::State&) const;
template void MetricSet::add(std::span<const RegressionRecord>, exact::State&) const;
template void MetricSet::add(std::span<const SampleRecord>, exact::State&) const;
template void MetricSet::add(std::span<const SegmentationRecord>, exact::State&) const;
template void MetricSet::add(std::span<const DenseRegressionRecord>, exact::State&) const;

void MetricSet::update(const MultilabelRecords& rows, exact::State& state) const {
  count_rows(
      *counters_, rows.rows.size(), [&](std::size_t i) { return rows.sample(i); }, state);
}

Results MetricSet::finalize(const exact::State& state) const {
  Results results;
  results.num_classes = options_.num_classes;
  for (const auto& family : families_) family->finalize(state, results);
  const auto is_unwanted = [&](const auto& metric) { return !is_wanted(metric.name); };
  std::erase_if(results.metrics, is_unwanted);
  add_wilson(results.metrics);
  for (ClassMetrics& values : results.per_class) add_wilson(values.values);
  return results;
}

}  // namespace tally::metrics
