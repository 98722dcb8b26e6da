#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>
#include <tally/base/printable.hpp>
#include <tally/compare/comparison.hpp>

#include "figures.hpp"

namespace tally::compare {
namespace {

constexpr std::size_t kMostNameBytes = 24;

using Lines = std::vector<std::string>;

std::string run_line(const char* side, const RunFacts& run) {
  const bool own = run.weights_sha256.empty();
  return format("{}: {} (model {}, {} {:.12}…)", side, printable(run.path), printable(run.model),
                own ? "sha256" : "with weights",
                printable(own ? run.model_sha256 : run.weights_sha256));
}

void add_heading(const Comparison& comparison, Lines& lines) {
  lines.push_back(run_line("A", comparison.a));
  lines.push_back(run_line("B", comparison.b));
  lines.push_back(format("{} samples of {}, {} scored, {} ignored", comparison.samples,
                         printable(comparison.data_path), comparison.scored(), comparison.ignored));
  for (const std::string& note : comparison.notes) lines.push_back("note: " + note);
}

void add_table(const PairedTable& table, Lines& lines) {
  lines.emplace_back();
  lines.push_back(format("{:<20}{:>12}{:>12}", "", "B right", "B wrong"));
  lines.push_back(format("{:<20}{:>12}{:>12}", "A right", table.both_right, table.only_a_right));
  lines.push_back(format("{:<20}{:>12}{:>12}", "A wrong", table.only_b_right, table.neither_right));
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

void add_metrics(const Comparison& comparison, Lines& lines) {
  lines.emplace_back();
  lines.push_back(
      format("{:<24}{:>12}{:>12}{:>12}   {:<26}", "", "A", "B", "B - A", "95 % interval of B - A"));
  for (const MetricDifference& metric : comparison.metrics) {
    std::string line = format(
        "{:<24}{:>12}{:>12}{:>12}   {:<26}{}", metric.name, optional_text(metric.a, value_text),
        optional_text(metric.b, value_text), optional_text(metric.difference, difference_text),
        metric.interval ? interval_text(*metric.interval) : "none", better_text(metric));
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  lines.push_back(
      format("intervals: {} replicates of the paired bootstrap, seed {}; accuracy: "
             "Newcombe's",
             comparison.options.replicates, comparison.options.seed));
  for (const LeftOut& metric : comparison.left_out) {
    lines.push_back(format("left out: {} {}", metric.metric, metric.reason));
  }
}

// "3" or "3 'cat'"
std::string class_text(const Comparison& comparison, std::int64_t index) {
  if (index < 0) return "none";
  const auto& names = comparison.class_names;
  if (index >= std::ssize(names)) return format("{}", index);
  const std::string& name = names[to_size(index)];
  // A name that is cut could be cut in the midst of a letter.
  return name.size() <= kMostNameBytes ? format("{} '{}'", index, name) : format("{}", index);
}

std::string prediction_text(const Comparison& comparison, const Prediction& prediction) {
  const std::string predicted = class_text(comparison, prediction.predicted);
  return std::isnan(prediction.confidence)
             ? predicted
             : format("{} ({:.3f})", predicted, prediction.confidence);
}

void add_changes(const Comparison& comparison, Lines& lines) {
  const Changes& changes = comparison.changes;
  lines.emplace_back();
  lines.push_back(
      format("predicted otherwise in B: {} of {} samples; right -> wrong {}, wrong -> "
             "right {}, wrong -> other wrong {}",
             changes.total(), comparison.scored(), changes.right_to_wrong, changes.wrong_to_right,
             changes.wrong_to_other_wrong));
  for (const Change& change : changes.first) {
    lines.push_back(format(
        "  sample {}, label {}: {} -> {}", change.index, class_text(comparison, change.label),
        prediction_text(comparison, change.a), prediction_text(comparison, change.b)));
  }
  const std::int64_t unlisted = changes.total() - std::ssize(changes.first);
  if (unlisted > 0 && !changes.first.empty()) {
    lines.push_back(format("  and {} more (--changed N lists N of them)", unlisted));
  }
}

}  // namespace

std::vector<std::string> to_lines(const Comparison& comparison) {
  Lines lines;
  add_heading(comparison, lines);
  add_table(comparison.table, lines);
  add_metrics(comparison, lines);
  add_changes(comparison, lines);
  lines.emplace_back();
  lines.push_back(conclude(comparison).sentence);
  return lines;
}

}  // namespace tally::compare
