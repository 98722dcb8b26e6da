#include <tally/metrics/metric_set.hpp>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "family.hpp"
#include "registry.hpp"
#include "row_counters.hpp"

namespace tally::metrics {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::vector<std::string>& names, const std::vector<FamilyEntry>& families) {
  std::vector<std::string> known;
  for (const FamilyEntry& family : families) {
    for (const MetricDescription& metric : family.metrics) known.emplace_back(metric.name);
  }
  for (const std::string& name : names) {
    if (contains(known, name)) continue;
    throw Error(ErrorKind::usage, format("metric '{}' is not known", name),
                format("Known: {}.", fmt::join(known, ", ")));
  }
}

// The name under which the user asked for the family; none if he did not.
std::optional<std::string_view> asked_as(const FamilyEntry& family,
                                         const std::vector<std::string>& names) {
  for (const MetricDescription& metric : family.metrics) {
    if (contains(names, metric.name)) return metric.name;
  }
  return std::nullopt;
}

bool is_wanted(const FamilyEntry& family, const MetricOptions& options) {
  const auto asked = asked_as(family, options.names);
  const auto obstacle =
      family.obstacle == nullptr ? std::optional<std::string>() : family.obstacle(options);
  if (asked && obstacle) {
    throw Error(ErrorKind::usage, format("metric '{}' {}", *asked, *obstacle),
                "Leave it out of --metrics.");
  }
  return !obstacle && (asked || options.names.empty() || family.kept == Kept::always);
}

void check_facts(std::span<const std::int64_t> labels, const RowFacts& facts) {
  if (facts.non_finite_row || facts.wrong_kind_row || facts.prediction.size() != labels.size() ||
      facts.label_rank.size() != labels.size() || facts.loss.size() != labels.size() ||
      facts.label_tied.size() != labels.size()) {
    throw Error(ErrorKind::internal, "row facts that are void or of another batch were counted");
  }
}

}  // namespace

std::vector<MetricDescription> known_metrics(std::string_view task) {
  if (task != "multiclass") {
    throw Error(ErrorKind::usage, format("task '{}' has no metrics, expected multiclass", task));
  }
  std::vector<MetricDescription> metrics;
  for (const FamilyEntry& family : multiclass_families()) {
    metrics.insert(metrics.end(), family.metrics.begin(), family.metrics.end());
  }
  return metrics;
}

MetricSet::MetricSet(MetricOptions options)
    : options_(std::move(options)),
      layout_(std::make_shared<exact::StateLayout>()),
      counters_(std::make_unique<RowCounters>()) {
  if (options_.num_classes < 1) {
    throw Error(ErrorKind::internal,
                format("metrics of {} classes, expected at least 1", options_.num_classes));
  }
  const std::vector<FamilyEntry> known = multiclass_families();
  check_names(options_.names, known);
  for (const FamilyEntry& entry : known) {
    if (!is_wanted(entry, options_)) continue;
    families_.push_back(entry.make(options_));
    families_.back()->declare(*layout_, *counters_);
  }
}

MetricSet::~MetricSet() = default;

std::shared_ptr<const exact::StateLayout> MetricSet::layout() const { return layout_; }

const RowCounters& MetricSet::counters() const { return *counters_; }

void MetricSet::update(std::int64_t first_index, std::span<const std::int64_t> labels,
                       const RowFacts& facts, exact::State& state) const {
  check_facts(labels, facts);
  const auto values = state.values();
  const auto add = [values](std::int64_t offset, std::int64_t value) {
    values[static_cast<std::size_t>(offset)] += value;
  };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    counters_->count({.index = static_cast<std::uint64_t>(first_index) + i,
                      .label = labels[i],
                      .prediction = facts.prediction[i],
                      .label_rank = facts.label_rank[i],
                      .loss = facts.loss[i],
                      .label_tied = facts.label_tied[i] != 0},
                     add);
  }
  state.canonicalise();
}

Results MetricSet::finalize(const exact::State& state) const {
  Results results;
  results.num_classes = options_.num_classes;
  for (const auto& family : families_) family->finalize(state, results);
  if (!options_.names.empty()) {
    std::erase_if(results.metrics, [&](const MetricValue& metric) {
      return !contains(options_.names, metric.name);
    });
  }
  return results;
}

}  // namespace tally::metrics
