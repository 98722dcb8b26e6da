// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/comparison.hpp>

#include <algorithm>
#include <iterator>

#include <tally/base/format.hpp>
#include <tally/compare/comparison_text.hpp>
#include <tally/metrics/output_kind_and_conventions.hpp>

#include "paired_bootstrap.hpp"
#include "paired_samples.hpp"

namespace tally::compare {
namespace {

// The share of right samples has an interval in closed form, which does not depend on a seed
// (decision 14). It replaces that of the bootstrap.
void use_closed_form(const Outcomes& outcomes, std::vector<MetricDifference>& metrics) {
  const auto share = std::ranges::find(metrics, outcomes.metric, &MetricDifference::name);
  if (share != metrics.end()) share->interval = difference_interval(outcomes.table);
}

// Some metrics count outputs that are not finite as wrong, others leave the sample out. Where A and
// B have them for different samples, the values of the latter metrics are of different samples, and
// no side may be called better by them.
void judge_not_finite(const PairedSamples& samples, Comparison& comparison) {
  std::int64_t in_a = 0;
  std::int64_t in_b = 0;
  bool same = true;
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const bool a = samples.is_finite(Side::a, i);
    const bool b = samples.is_finite(Side::b, i);
    in_a += a ? 0 : 1;
    in_b += b ? 0 : 1;
    same &= a == b;
  }
  if (same) return;
  comparison.notes.push_back(format(
      "outputs of {} samples in A and {} in B are NaN or Inf: metrics that leave them out are "
      "of other samples in A than in B, and say nothing of which is better",
      in_a, in_b));
  for (MetricDifference& metric : comparison.metrics) {
    const auto known = metrics::description_of(comparison.task, metric.name);
    metric.of_same_samples = !known || !known->leaves_out_not_finite;
  }
}

void fill_run_info(const SavedRun& a, const SavedRun& b, Comparison& comparison) {
  // require_same_samples() has ensured that B has the same task and the same samples.
  comparison.task = a.attribute("task");
  comparison.a = a.info();
  comparison.b = b.info();
  comparison.samples.path = a.attribute("data");
  comparison.samples.identity = a.attribute("data_identity");
  comparison.samples.count = a.num_samples();
  comparison.samples.class_names = a.class_names();
}

}  // namespace

std::optional<Side> MetricDifference::better() const {
  if (!of_same_samples || !interval || (interval->low <= 0 && interval->high >= 0))
    return std::nullopt;
  // The difference is B - A: above 0 the value of B is larger.
  return (interval->low > 0) == less_is_better ? Side::a : Side::b;
}

namespace {

// The level of significance; docs/metrics.md promises it.
constexpr double kLevel = 0.05;

// The side that is right more often, if the test finds a difference at this level.
std::optional<Side> better_by_test(const ContingencyTable& table) {
  if (mcnemar_p_value(table) >= kLevel) return std::nullopt;
  return table.only_a_right > table.only_b_right ? Side::a : Side::b;
}

bool is_unchanged(const Changes& changes) {
  return std::visit([](const auto& of_kind) { return of_kind.total() == 0; }, changes);
}

std::string verdict(std::optional<Side> better) {
  if (!better) return "No difference can be told";
  return *better == Side::a ? "A is better than B" : "B is better than A";
}

// "accuracy 0.6930 -> 0.7010 (+0.0080, 95 % interval +0.0021 … +0.0139; McNemar p = 0.0072)"
std::string metrics_of(const MetricDifference& metric, const std::string& test) {
  if (!metric.difference) return format("{} is undefined", metric.name);
  if (!metric.of_same_samples) {
    return format("{} {} -> {} leave out other samples, whose outputs are NaN or Inf", metric.name,
                  value_text(*metric.a), value_text(*metric.b));
  }
  const std::string interval =
      metric.interval ? format("95 % interval {}", interval_text(*metric.interval))
                      : std::string("no interval: too many replicates leave it undefined");
  return format("{} {} -> {} ({}, {}{})", metric.name, value_text(*metric.a), value_text(*metric.b),
                difference_text(*metric.difference), interval, test);
}

// The test alone decides. Near the border the interval may say something else, because it is
// another calculation, and then the sentence says so.
Conclusion conclude_by_test(const Comparison& comparison, const MetricDifference& share) {
  const ContingencyTable& table = comparison.outcomes->table;
  const auto better = better_by_test(table);
  const std::string test = format("; McNemar p = {}", p_text(mcnemar_p_value(table)));
  const bool only_interval = !better && share.better();
  const bool alike = table.total() > 0 && is_unchanged(comparison.changes);
  return {
      better, share.name,
      format("{}: {}{}{}.", verdict(better),
             alike ? "A and B predict the same for every sample, " : "", metrics_of(share, test),
             only_interval ? ", by which the test decides, not by the interval" : "")};
}

}  // namespace

Conclusion conclude(const Comparison& comparison) {
  const auto& metrics = comparison.metrics;
  if (comparison.outcomes) {
    const auto share =
        std::ranges::find(metrics, comparison.outcomes->metric, &MetricDifference::name);
    if (share != metrics.end()) return conclude_by_test(comparison, *share);
  }
  // choose_metrics() does not return without a metric.
  const MetricDifference& first = metrics.at(0);
  const auto better = first.better();
  return {better, first.name, format("{}: {}.", verdict(better), metrics_of(first, ""))};
}

Comparison compare_runs(const std::filesystem::path& a, const std::filesystem::path& b,
                        const Options& options) {
  const SavedRun run_a(a);
  const SavedRun run_b(b);
  const auto other_data = require_same_samples(run_a, run_b);
  ReadPair pair = read_pair(run_a, run_b, options.metrics);

  // All that can be refused has been refused here, before the bootstrap takes its time.
  Comparison comparison;
  fill_run_info(run_a, run_b, comparison);
  comparison.options = options;
  comparison.definitions = metrics::name(pair.samples->metrics().options().definitions);
  comparison.outcomes = pair.samples->outcomes();
  comparison.samples.ignored = pair.samples->num_ignored();
  comparison.metrics = paired_differences(*pair.samples, options.replicates, options.seed);
  if (comparison.outcomes) use_closed_form(*comparison.outcomes, comparison.metrics);
  comparison.changes = pair.samples->changes(options.most_changes);
  comparison.left_out = std::move(pair.left_out);
  if (other_data) comparison.notes.push_back(*other_data);
  std::ranges::move(pair.notes, std::back_inserter(comparison.notes));
  judge_not_finite(*pair.samples, comparison);
  return comparison;
}

}  // namespace tally::compare
