#include "label_curves.hpp"

#include <tally/base/format.hpp>
#include <tally/metrics/names.hpp>

#include "curves.hpp"

namespace tally::metrics {
namespace {

struct Form {
  std::string_view name, definition;
};
constexpr Form kForms[] = {
    {"auroc", "area under the ROC curve"},
    {"auroc_max_fpr_<rate>", "the same up to this false positive rate, standardised (McClish)"},
    {"average_precision", "sum over thresholds of the gain in recall times precision"},
    {"precision_at_recall_<recall>", "largest precision at a recall of at least this"},
    {"recall_at_precision_<precision>", "largest recall at a precision of at least this"}};

std::optional<std::string> more_than_one(const MetricOptions&, std::string_view metric) {
  for (const Form& form : kForms) {
    const auto number = number_in(metric, form.name);
    if (number && *number > 1) return format("has {}, expected a share of at most 1", *number);
  }
  return std::nullopt;
}

}  // namespace

FamilyEntry binary_curves_family() {
  FamilyEntry family = class_curves_family();
  const MetricDescription one = family.metrics.front();
  family.metrics.clear();
  for (const Form& form : kForms) {
    family.metrics.push_back(one);
    family.metrics.back().name = form.name;
    family.metrics.back().definition = form.definition;
  }
  family.obstacle = more_than_one;
  return family;
}

}  // namespace tally::metrics
