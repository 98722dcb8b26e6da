// SPDX-License-Identifier: Apache-2.0
#include "scoring_settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/parse_number.hpp>
#include <tally/base/printable.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>

namespace tally::compare {
namespace {

// MetricSet makes counters for so many classes and bins, so that a damaged file could ask for any
// amount of memory without these limits.
constexpr std::int64_t kMaxClasses = 1 << 20;
constexpr std::int64_t kMaxBins = 1000;

// The ranges of fractions end below 1, as those of their options do.
const double kBelowOne = std::nextafter(1.0, 0.0);

template <class Number>
std::string range_text(Number low, Number high) {
  if (low == high) return format("{}", low);
  const auto end = static_cast<double>(high) == kBelowOne ? "below 1" : format("{}", high);
  return format("a number from {} to {}", low, end);
}

// Attributes are texts, numbers too (docs/formats.md). Error(dataset) names the attribute.
template <class Number>
Number number_of(const SavedRun& run, std::string_view attribute, const std::string& text,
                 Number low, Number high) {
  const auto value = parse_number<Number>(text);
  if (value && *value >= low && *value <= high) return *value;
  throw Error(ErrorKind::dataset,
              format("predictions file '{}', attribute {} = '{}', expected {}", run.name(),
                     attribute, printable(text), range_text(low, high)));
}

template <class Number>
Number number_of(const SavedRun& run, std::string_view attribute, Number low, Number high) {
  return number_of(run, attribute, run.attribute(attribute), low, high);
}

// Reads an attribute by `parse`, which throws for words that it does not know. Its error is about
// an option, so that its text is put into an Error(dataset) that names the file.
template <class Parse>
auto word_of(const SavedRun& run, std::string_view attribute, const Parse& parse) {
  const std::string word = run.attribute(attribute);
  try {
    return parse(word);
  } catch (const Error& error) {
    throw Error(ErrorKind::dataset, format("predictions file '{}', attribute {}: {}", run.name(),
                                           attribute, printable(error.what())));
  }
}

ordered_metrics::ScoreKeys keys_from_name(std::string_view word) {
  if (word == "exact") return ordered_metrics::ScoreKeys::float32;
  if (word == "bf16") return ordered_metrics::ScoreKeys::bfloat16;
  throw Error(ErrorKind::usage, format("'{}' is no way to make curves", word));
}

const char* name(ordered_metrics::ScoreKeys keys) {
  return keys == ordered_metrics::ScoreKeys::float32 ? "exact" : "bf16";
}

}  // namespace

ScoringSettings scoring_settings(const SavedRun& run) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  ScoringSettings settings;
  const std::string task = run.attribute("task");
  // A binary run has one label and two classes; any other number means damage.
  settings.num_classes = is_task(task, TaskKind::binary)
                             ? number_of<std::int64_t>(run, "num_classes", 2, 2)
                             : number_of<std::int64_t>(run, "num_classes", 1, kMaxClasses);
  if (const auto text = run.find_attribute("ignore_index")) {
    settings.ignore_index = number_of(run, "ignore_index", *text, kLowest, kHighest);
  }
  settings.definitions = word_of(run, "definitions", metrics::definitions_from_name);
  settings.calibration_bins = number_of<std::int64_t>(run, "calibration_bins", 1, kMaxBins);
  const auto* traits = find_task_traits(task);
  const bool has_smoothing = traits != nullptr && traits->has_loss_options;
  settings.label_smoothing =
      number_of(run, "label_smoothing", 0.0, has_smoothing ? kBelowOne : 0.0);
  settings.has_class_weights = run.find_attribute("class_weights_sha256").has_value();
  settings.outputs = word_of(run, "outputs", metrics::output_kind_from_name);
  if (traits != nullptr && traits->has_threshold) {
    settings.threshold = number_of(run, "threshold", 0.0, kBelowOne);
  }
  // The attribute is optional: without it curves are left out, and the rest is compared.
  if (run.find_attribute("curves")) settings.curves = word_of(run, "curves", keys_from_name);
  return settings;
}

metrics::MetricOptions options_of(const std::string& task, const ScoringSettings& settings) {
  return {.task = task,
          .num_classes = settings.num_classes,
          .ignore_index = settings.ignore_index,
          .definitions = settings.definitions,
          .calibration_bins = settings.calibration_bins,
          .label_smoothing = settings.label_smoothing,
          .threshold = settings.threshold};
}

void require_same_classes(const TwoRuns& runs) {
  const auto& a = runs.a.settings;
  const auto& b = runs.b.settings;
  if (a.num_classes == b.num_classes && a.ignore_index == b.ignore_index) return;
  throw Error(ErrorKind::dataset,
              format("{} and {} differ in num_classes or ignore_index", runs.a.run.name(),
                     runs.b.run.name()),
              "Evaluate both models on one data set.");
}

std::vector<std::string> notes_on_settings(const TwoRuns& runs,
                                           const metrics::MetricOptions& options) {
  std::vector<std::string> notes;
  const auto& a = runs.a.settings;
  const auto& b = runs.b.settings;
  if (a.definitions != b.definitions) {
    notes.push_back(format("B was evaluated with --definitions {}; both are compared by A's, {}",
                           metrics::name(b.definitions), metrics::name(a.definitions)));
  }
  // A difference is mentioned only where a compared metric depends on the setting. The definitions
  // concern many metrics and are mentioned always, the threshold wherever scores are compared at
  // it.
  const auto is_asked = [&](const auto& is_meant) {
    return std::ranges::any_of(options.names, is_meant);
  };
  const bool has_bins = is_asked([](const std::string& metric) {
    return metric == "ece" || metric.starts_with("calibration_error_");
  });
  const bool has_curves = is_asked([&](const std::string& metric) {
    return !ordered_metrics::curve_metric_names({metric}).empty();
  });
  if (has_bins && a.calibration_bins != b.calibration_bins) {
    notes.push_back(
        format("B was evaluated with {} calibration bins; both are compared with A's {}",
               b.calibration_bins, a.calibration_bins));
  }
  if (options.has_scores && a.threshold != b.threshold) {
    notes.push_back(format("B was evaluated with --threshold {}; both are compared at A's, {}",
                           b.threshold, a.threshold));
  }
  if (has_curves && a.curves && b.curves && *a.curves != *b.curves) {
    notes.push_back(format("B was evaluated with --curves {}; both are compared by A's, {}",
                           name(*b.curves), name(*a.curves)));
  }
  return notes;
}

}  // namespace tally::compare
