#include <algorithm>

#include <tally/base/format.hpp>
#include <tally/compare/comparison.hpp>

#include "metric_text.hpp"

namespace tally::compare {
namespace {

constexpr double kLevel = 0.05;

// By McNemar's test.
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

// The metric of the outcomes, by the test.
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
  const MetricDifference& first = metrics.at(0);
  const auto better = first.better();
  return {better, first.name, format("{}: {}.", verdict(better), metrics_of(first, ""))};
}

}  // namespace tally::compare
