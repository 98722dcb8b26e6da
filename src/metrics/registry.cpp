// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/multiple_choice_metrics.hpp>

#include "families/agreement.hpp"
#include "families/binary_and_multilabel_metrics.hpp"
#include "families/calibration.hpp"
#include "families/confusion_matrix.hpp"
#include "families/curve_metric_descriptions.hpp"
#include "families/detection_metrics.hpp"
#include "families/language_model_metrics.hpp"
#include "families/loss.hpp"
#include "families/multilabel_sample_metrics.hpp"
#include "families/per_class_metrics.hpp"
#include "families/question_answering_metrics.hpp"
#include "families/regression_metrics.hpp"
#include "families/sample_accounting.hpp"
#include "families/segmentation_metrics.hpp"
#include "families/token_classification_metrics.hpp"
#include "families/top_k.hpp"

namespace tally::metrics {
namespace {

FamilyEntry of_finite_outputs(FamilyEntry family) {
  for (MetricDescription& metric : family.metrics) metric.leaves_out_not_finite = true;
  return family;
}

// Predicted classes alone do not give these metrics.
FamilyEntry of_scores(FamilyEntry family) {
  for (MetricDescription& metric : family.metrics) metric.needs_scores = true;
  return of_finite_outputs(std::move(family));
}

FamilyEntry of_labels(FamilyEntry family) {
  for (MetricDescription& metric : family.metrics) metric.needs_label = true;
  return family;
}

std::vector<FamilyEntry> multiclass_families() {
  return {
      coverage_family(),  // first: the others divide by its counts
      top_k_family(),
      of_scores(loss_family()),
      of_labels(class_metrics_family()),
      of_labels(agreement_family()),  // needs the counts per class
      of_scores(calibration_family()),
      of_scores(class_curves_family()),
      of_labels(confusion_family()),
  };
}

// Of two classes, disagreement has no degrees.
FamilyEntry binary_agreement_family() {
  FamilyEntry family = agreement_family();
  std::erase_if(family.metrics, [](const MetricDescription& metric) {
    return metric.name.starts_with("cohen_kappa_");
  });
  return family;
}

// torchmetrics' rule for one probability: the share of positives, not of right predictions.
FamilyEntry binary_calibration_family() {
  FamilyEntry family = calibration_family();
  family.metrics.front().definition =
      "expected calibration error: distance of probability and share of 1";
  return family;
}

// Its cells follow from the other counts of a label but where outputs are not finite.
FamilyEntry multilabel_confusion_family() {
  FamilyEntry family = confusion_family();
  family.metrics.front().definition = "counts by label, truth and prediction, in metrics.h5";
  family.metrics.front().standard = false;
  return family;
}

// The first two count what the others divide by.
std::vector<FamilyEntry> binary_families() {
  return {
      coverage_family(),
      binary_metrics_family(),
      of_scores(binary_loss_family()),
      binary_agreement_family(),
      of_scores(binary_calibration_family()),
      of_scores(binary_curves_family()),
      confusion_family(),
  };
}

std::vector<FamilyEntry> multilabel_families() {
  return {
      coverage_family(),
      multilabel_metrics_family(),
      exact_match_family(),
      of_scores(multilabel_loss_family()),
      of_scores(label_ranking_family()),
      of_scores(class_curves_family()),
      multilabel_confusion_family(),
  };
}

std::vector<FamilyEntry> regression_families() {
  return {coverage_family(), of_finite_outputs(regression_family()),
          of_finite_outputs(rank_correlation_family())};
}

// Nothing is scored, but every sample is counted.
std::vector<FamilyEntry> predict_families() { return {coverage_family()}; }

std::vector<FamilyEntry> question_families() {
  return {coverage_family(), sample_coverage_family(), answer_family(), best_answer_family()};
}

std::vector<FamilyEntry> language_model_families() {
  return {coverage_family(), sample_coverage_family(), language_model_family()};
}

// Precision first, as COCO lists it.
std::vector<FamilyEntry> detection_families() {
  return {coverage_family(), average_precision_family(), detection_family()};
}

std::vector<FamilyEntry> segmentation_families() {
  return {coverage_family(), mask_family(), confusion_family()};
}

std::vector<FamilyEntry> token_classification_families() {
  return {coverage_family(), token_accuracy_family(), entity_family(), token_class_metrics_family(),
          confusion_family()};
}

std::vector<FamilyEntry> families_of(TaskKind task) {
  switch (task) {
    case TaskKind::binary:
      return binary_families();
    case TaskKind::detection:
      return detection_families();
    case TaskKind::language_model:
      return language_model_families();
    case TaskKind::multiclass:
      return multiclass_families();
    case TaskKind::multilabel:
      return multilabel_families();
    case TaskKind::multiple_choice:
      return multiple_choice_families();
    case TaskKind::predict:
      return predict_families();
    case TaskKind::question_answering:
      return question_families();
    case TaskKind::regression:
      return regression_families();
    case TaskKind::segmentation:
      return segmentation_families();
    case TaskKind::token_classification:
      return token_classification_families();
  }
  throw Error(ErrorKind::internal, "a task has no metrics");
}

}  // namespace

std::vector<FamilyEntry> families_of(std::string_view task) {
  if (const auto* found = find_task_traits(task)) return families_of(found->kind);
  throw Error(ErrorKind::usage, format("task '{}' has no metrics, expected one of {}", task,
                                       fmt::join(task_names(), ", ")));
}

}  // namespace tally::metrics
