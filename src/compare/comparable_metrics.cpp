// SPDX-License-Identifier: Apache-2.0
#include "comparable_metrics.hpp"

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::compare {
namespace {

// ordered_metrics::LocalCurves takes up to four places for each score, one of the score itself and
// three of bins, and holds fewer than 2^31 of them.
constexpr std::int64_t kMostScores = std::int64_t{1} << 28;

}  // namespace

metrics::MetricOptions choose_metrics(const std::string& task, const TwoRuns& runs,
                                      const std::vector<std::string>& asked,
                                      const Obstacle& obstacle_of, ReadPair& pair) {
  require_same_classes(runs);
  metrics::MetricOptions options = options_of(task, runs.a.settings);
  options.names = asked;
  options.has_scores = have_scores(runs);
  options.has_label_sets = runs.a.run.find_attribute("label_sets").has_value();
  if (!options.has_scores) {
    // Smoothing is of the loss, of which there is none then. A label is predicted or it is not: 1
    // and 0 stand for its probability, whatever the threshold was.
    options.label_smoothing = 0;
    options.threshold = metrics::MetricOptions{}.threshold;
  }
  // MetricSet replaces 'standard', 'all' and an empty list by full names, each of which is looked
  // at by itself.
  const metrics::MetricSet wanted(options);
  for (const std::string& metric : wanted.without_scores()) {
    pair.left_out.push_back(
        {metric, format("needs scores, missing in {}; an evaluation of the model with --save "
                        "labels,logits has them",
                        who(runs, has_classes_alone))});
  }
  options.names.clear();
  for (const std::string& metric : wanted.options().names) {
    // The difference of two matrices is no single number. A matrix that is merely part of a set is
    // dropped without a line in left_out.
    const bool is_matrix = metric.starts_with("confusion_");
    const auto obstacle =
        is_matrix ? std::optional<std::string>("is no single metric") : obstacle_of(metric);
    if (!obstacle) {
      options.names.push_back(metric);
    } else if (std::ranges::find(asked, metric) != asked.end()) {
      // What the user named must not be missing from the comparison without an error.
      throw Error(ErrorKind::usage, format("metric '{}' {}", metric, *obstacle),
                  "Leave it out of --metrics, or evaluate again.");
    } else if (!is_matrix) {
      pair.left_out.push_back({metric, *obstacle});
    }
  }
  // To MetricSet an empty list would mean the standard set.
  if (options.names.empty()) {
    throw Error(ErrorKind::usage, "--metrics leaves nothing to compare",
                "Name metrics, or leave --metrics out.");
  }
  pair.notes = notes_on_settings(runs, options);
  return options;
}

std::optional<std::string> obstacle_of_curves(const TwoRuns& runs, std::int64_t num_scores) {
  if (num_scores > kMostScores) {
    return format("is made of {} scores in order, more than the {} that compare holds", num_scores,
                  kMostScores);
  }
  // Whether curves were made of rounded scores decides on their values, so a file that does not say
  // it cannot be compared by them.
  const auto does_not_say = [](const KnownRun& known) { return !known.settings.curves; };
  const std::string silent = who(runs, does_not_say);
  if (silent.empty()) return std::nullopt;
  return format("was made as --curves says, which is not in {}; another evaluation gives it",
                silent);
}

std::string lack_of_column(const std::string& column, const std::string& who, bool logits_do_too) {
  const std::string alternative = logits_do_too ? " (or 'logits')" : "";
  return format("needs the column '{}'{}, missing in {}; --save labels,{} gives it", column,
                alternative, who, column);
}

}  // namespace tally::compare
