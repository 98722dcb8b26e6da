// SPDX-License-Identifier: Apache-2.0
#include <tally/compare/comparison_text.hpp>

#include <algorithm>
#include <cmath>

#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>

#include "changes_text.hpp"

namespace tally::compare {
namespace {

constexpr double kLarge = 1000;
constexpr double kSmall = 0.00095;  // below it, four decimals show less than two digits

}  // namespace

std::string value_text(double value) {
  return std::abs(value) < kLarge ? format("{:.4f}", value) : format("{:.6g}", value);
}

std::string difference_text(double difference) {
  const double size = std::abs(difference);
  if (size >= kLarge) return format("{:+.6g}", difference);
  if (size == 0) return "+0.0000";  // also for a negative zero
  return size < kSmall ? format("{:+.1e}", difference) : format("{:+.4f}", difference);
}

std::string interval_text(const metrics::Interval& interval) {
  return format("{} … {}", difference_text(interval.low), difference_text(interval.high));
}

std::string p_text(double p_value) { return format("{:.3g}", p_value); }

namespace {

using Lines = std::vector<std::string>;

std::string run_line(const char* side, const RunInfo& run) {
  // Runs of one model with different weights differ in the digest of the weights alone.
  const bool own = run.weights_sha256.empty();
  return format("{}: {} (model {}, {} {:.12}…)", side, printable(run.path), printable(run.model),
                own ? "sha256" : "with weights",
                printable(own ? run.model_sha256 : run.weights_sha256));
}

void add_heading(const Comparison& comparison, Lines& lines) {
  lines.push_back(run_line("A", comparison.a));
  lines.push_back(run_line("B", comparison.b));
  lines.push_back(format("{} samples of {}, {} scored, {} ignored", comparison.samples.count,
                         printable(comparison.samples.path), comparison.samples.scored(),
                         comparison.samples.ignored));
  for (const std::string& note : comparison.notes) lines.push_back("note: " + note);
}

void add_outcomes(const Outcomes& outcomes, Lines& lines) {
  const ContingencyTable& table = outcomes.table;
  lines.emplace_back();
  lines.push_back(format("{:<20}{:>12}{:>12}", "", "B right", "B wrong"));
  lines.push_back(format("{:<20}{:>12}{:>12}", "A right", table.both_right, table.only_a_right));
  lines.push_back(format("{:<20}{:>12}{:>12}", "A wrong", table.only_b_right, table.neither_right));
  if (outcomes.metric == "exact_match") {
    lines.emplace_back("a sample is right where every scored label is");
  }
  lines.push_back(
      format("McNemar's exact test, two-sided: p = {}", p_text(mcnemar_p_value(table))));
}

std::string optional_text(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "undefined";
}

std::string better_text(const MetricDifference& metric) {
  const auto better = metric.better();
  if (!better) return "";
  return *better == Side::a ? "A better" : "B better";
}

std::size_t name_width(const std::vector<MetricDifference>& metrics) {
  std::size_t width = 24;
  for (const MetricDifference& metric : metrics) width = std::max(width, metric.name.size());
  return width;
}

void add_metrics(const Comparison& comparison, Lines& lines) {
  lines.emplace_back();
  const std::size_t width = name_width(comparison.metrics);
  lines.push_back(
      format("{:<{}}{:>12}{:>12}{:>12}   95 % interval of B - A", "", width, "A", "B", "B - A"));
  for (const MetricDifference& metric : comparison.metrics) {
    std::string line =
        format("{:<{}}{:>12}{:>12}{:>12}   {:<26}{}", metric.name, width,
               optional_text(metric.a, value_text), optional_text(metric.b, value_text),
               optional_text(metric.difference, difference_text),
               metric.interval ? interval_text(*metric.interval) : "none", better_text(metric));
    // The last column is empty where neither side is better, and no line ends in blanks.
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  const auto& outcomes = comparison.outcomes;
  // Only the metric of the outcomes has no interval from the bootstrap.
  const bool has_share =
      outcomes && std::ranges::find(comparison.metrics, outcomes->metric,
                                    &MetricDifference::name) != comparison.metrics.end();
  lines.push_back(format("intervals: {} replicates of the paired bootstrap, seed {}{}",
                         comparison.options.replicates, comparison.options.seed,
                         has_share ? format("; {}: Newcombe's", outcomes->metric) : ""));
  for (const LeftOut& metric : comparison.left_out) {
    lines.push_back(format("left out: {} {}", metric.metric, metric.reason));
  }
}

}  // namespace

std::vector<std::string> to_lines(const Comparison& comparison) {
  Lines lines;
  add_heading(comparison, lines);
  if (comparison.outcomes) {
    add_outcomes(*comparison.outcomes, lines);
  } else {
    lines.emplace_back("no sample is right or wrong: there is no McNemar's test");
  }
  add_metrics(comparison, lines);
  lines.emplace_back();
  for (std::string& line : change_lines(comparison)) lines.push_back(std::move(line));
  lines.emplace_back();
  lines.push_back(conclude(comparison).sentence);
  return lines;
}

}  // namespace tally::compare
