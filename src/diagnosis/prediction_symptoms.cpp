// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>

#include "symptom_rules.hpp"

namespace tally::diagnosis {
namespace {

constexpr std::int64_t kFewestPredicted = 20;  // samples
constexpr double kNearlyAll = 0.95;
// So many more of the predictions than of the labels are in that class.
constexpr double kMore = 0.2;

double share(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

void look_at_one_class(const Evidence& evidence, Symptoms& found) {
  std::int64_t predicted = 0, labelled = 0;
  for (const auto& one : evidence.results.per_class) {
    predicted += one.predicted;
    labelled += one.support;
  }
  if (predicted < kFewestPredicted || labelled < kFewestPredicted) return;
  for (const auto& one : evidence.results.per_class) {
    const double of_predictions = share(one.predicted, predicted);
    const double of_labels = share(one.support, labelled);
    if (of_predictions < kNearlyAll || of_labels > of_predictions - kMore) continue;
    found.push_back({"one_class_predicted",
                     format("The model predicts class {} for {} of the samples, of which {} are of "
                            "it: are its weights trained, and its inputs prepared as in training?",
                            one.index, percent(of_predictions), percent(of_labels))});
  }
}

void look_at_labels(const Evidence& evidence, Symptoms& found) {
  const auto& labels = evidence.results.per_class;
  const auto samples = evidence.results.counts.finite();
  if (labels.empty() || samples < kFewestPredicted) return;
  // A label that no sample lacks, or none has, says nothing.
  const bool are_all = std::ranges::all_of(labels, [&](const auto& one) {
    return one.support > 0 && one.correct == one.support && one.predicted > one.support;
  });
  const bool are_for_all = std::ranges::all_of(
      labels, [&](const auto& one) { return share(one.predicted, samples) >= kNearlyAll; });
  if (!are_all || !are_for_all) return;
  found.push_back(
      {"all_labels_predicted",
       "Every label is predicted for nearly all samples: are the outputs probabilities "
       "(--outputs probabilities), whose sigmoid is above 0.5 wherever they are above 0?"});
}

}  // namespace

void look_at_predictions(const Evidence& evidence, Symptoms& found) {
  if (is_task(evidence.task, TaskKind::multilabel)) return look_at_labels(evidence, found);
  const bool has_one_label =
      is_task(evidence.task, TaskKind::multiclass) || is_task(evidence.task, TaskKind::binary);
  if (has_one_label) look_at_one_class(evidence, found);
}

}  // namespace tally::diagnosis
