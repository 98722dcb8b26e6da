// SPDX-License-Identifier: Apache-2.0
#include "families/curve_metric_descriptions.hpp"

#include <span>

#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>

namespace tally::metrics {
namespace {

// The text in angle brackets is for readers of --help; ordered_metrics/curve_metrics.cpp finds the
// metrics by the same names, whatever that text is.
struct Form {
  std::string_view name, definition;
};
constexpr Form kBinary[] = {
    {"auroc", "area under the ROC curve"},
    {"auroc_max_fpr_<rate>", "the same up to this false positive rate, standardised (McClish)"},
    {"average_precision", "sum over thresholds of the gain in recall times precision"},
    {"precision_at_recall_<recall>", "largest precision at a recall of at least this"},
    {"recall_at_precision_<precision>", "largest recall at a precision of at least this"}};
constexpr Form kOfClasses[] = {
    {"auroc_macro", "mean area under the classes' ROC curves, one against the rest"},
    {"auroc_weighted", "the same mean, by support"},
    {"auroc_max_fpr_<rate>_macro",
     "mean area up to this false positive rate, standardised (McClish)"},
    {"auroc_max_fpr_<rate>_weighted", "the same mean, by support"},
    {"average_precision_macro", "mean of the classes' average precision, one against the rest"},
    {"average_precision_weighted", "the same mean, by support"},
    {"precision_at_recall_<r>_macro",
     "mean of the classes' largest precision at a recall of at least r"},
    {"recall_at_precision_<p>_macro",
     "mean of the classes' largest recall at a precision of at least p"}};

// Numbers in these names are rates. name_patterns.hpp refuses those that are not above 0, this
// function those above 1.
std::optional<std::string> more_than_one(const MetricOptions&, std::string_view metric) {
  for (const std::span<const Form> forms :
       {std::span<const Form>(kBinary), std::span<const Form>(kOfClasses)}) {
    for (const Form& form : forms) {
      const auto number = number_in(metric, form.name);
      if (number && *number > 1) return format("has {}, expected a share of at most 1", *number);
    }
  }
  return std::nullopt;
}

FamilyEntry curves_family(std::span<const Form> forms) {
  FamilyEntry family;
  family.make = [](const MetricOptions&) -> std::unique_ptr<Family> {
    return std::make_unique<DeferredFamily>();
  };
  family.obstacle = more_than_one;
  for (const Form& form : forms) {
    family.metrics.push_back(
        {.name = form.name, .definition = form.definition, .standard = false, .needs_order = true});
  }
  return family;
}

}  // namespace

FamilyEntry binary_curves_family() { return curves_family(kBinary); }
FamilyEntry class_curves_family() { return curves_family(kOfClasses); }

}  // namespace tally::metrics
