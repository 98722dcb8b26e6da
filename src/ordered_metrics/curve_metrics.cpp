// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/curve_metrics.hpp>

#include <algorithm>
#include <array>

#include <tally/base/error.hpp>
#include <tally/metrics/name_patterns.hpp>
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

namespace tally::ordered_metrics {
namespace {

using Value = std::optional<double>;
using Curves = std::span<const CurveCounts>;

struct MetricRule {
  Value value;
  std::optional<metrics::Threshold> threshold = std::nullopt;
};

// An empty Threshold, unlike none, makes the report write the threshold as null: without positives
// there is no operating point, but the metric is still one that has a threshold.
MetricRule at_threshold(const std::optional<OperatingPoint>& point) {
  if (!point) return {std::nullopt, metrics::Threshold{}};
  return {point->value, metrics::Threshold{point->threshold}};
}

struct OfOneCurve {
  std::string_view form;
  CurveMetric metric;
  // `number` stands in the name; 1 where there is none.
  MetricRule (*of)(const CurveCounts& curve, double number);
};
constexpr OfOneCurve kAuroc{"auroc", CurveMetric::auroc, [](const CurveCounts& curve, double) {
                              return MetricRule{auroc(curve)};
                            }};
constexpr OfOneCurve kPartialAuroc{
    "auroc_max_fpr_<x>", CurveMetric::auroc,
    [](const CurveCounts& curve, double rate) { return MetricRule{partial_auroc(curve, rate)}; }};
constexpr OfOneCurve kAveragePrecision{
    "average_precision", CurveMetric::average_precision,
    [](const CurveCounts& curve, double) { return MetricRule{average_precision(curve)}; }};
constexpr OfOneCurve kPrecisionAtRecall{"precision_at_recall_<x>", CurveMetric::operating_point,
                                        [](const CurveCounts& curve, double recall) {
                                          return at_threshold(precision_at_recall(curve, recall));
                                        }};
constexpr OfOneCurve kRecallAtPrecision{
    "recall_at_precision_<x>", CurveMetric::operating_point,
    [](const CurveCounts& curve, double precision) {
      return at_threshold(recall_at_precision(curve, precision));
    }};

struct Form {
  std::string_view name;
  const OfOneCurve* of_one;
  std::optional<Average> average = std::nullopt;  // over classes; none: of the only curve
};
// The patterns match those of metrics/families/curve_metric_descriptions.cpp. Only "k" between <
// and > has a meaning of its own (metrics/name_patterns.hpp); all others stand for any number above
// 0.
constexpr std::array kForms{
    Form{kAuroc.form, &kAuroc},
    Form{kPartialAuroc.form, &kPartialAuroc},
    Form{kAveragePrecision.form, &kAveragePrecision},
    Form{kPrecisionAtRecall.form, &kPrecisionAtRecall},
    Form{kRecallAtPrecision.form, &kRecallAtPrecision},
    Form{"auroc_macro", &kAuroc, Average::macro},
    Form{"auroc_weighted", &kAuroc, Average::weighted},
    Form{"auroc_max_fpr_<x>_macro", &kPartialAuroc, Average::macro},
    Form{"auroc_max_fpr_<x>_weighted", &kPartialAuroc, Average::weighted},
    Form{"average_precision_macro", &kAveragePrecision, Average::macro},
    Form{"average_precision_weighted", &kAveragePrecision, Average::weighted},
    Form{"precision_at_recall_<x>_macro", &kPrecisionAtRecall, Average::macro},
    Form{"recall_at_precision_<x>_macro", &kRecallAtPrecision, Average::macro},
};

// This is a metric as the user asked for it, with the number that its name holds.
struct Asked {
  const OfOneCurve* of_one;
  std::optional<Average> average;
  double number;

  std::string name_of_one() const { return metrics::filled(of_one->form, number); }
  MetricRule of(const CurveCounts& curve) const { return of_one->of(curve, number); }
};

std::optional<Asked> asked(std::string_view name) {
  for (const Form& form : kForms) {
    if (!metrics::matches(name, form.name)) continue;
    return Asked{form.of_one, form.average, metrics::number_in(name, form.name).value_or(1.0)};
  }
  return std::nullopt;
}

MetricRule metric_of(Curves curves, std::string_view name, const CurveRules& rules) {
  const auto wanted = asked(name);
  if (!wanted || (!wanted->average && curves.size() != 1)) {
    throw Error(ErrorKind::internal, "a metric was asked of curves that have none such");
  }
  if (!wanted->average) return wanted->of(curves[0]);
  std::vector<Value> values;
  for (const CurveCounts& curve : curves) values.push_back(wanted->of(curve).value);
  return {average_over_classes(curves, values, wanted->of_one->metric, *wanted->average,
                               rules.targets, rules.definitions)};
}

metrics::MetricValue named(std::string name, const MetricRule& metric) {
  return {.name = std::move(name), .value = metric.value, .threshold = metric.threshold};
}

// Returns what the report gives for each class: the two metrics that every curve has, and those
// whose average was asked for.
std::vector<Asked> metrics_of_classes(const std::vector<std::string>& names) {
  std::vector<Asked> values{{&kAuroc, std::nullopt, 1.0}, {&kAveragePrecision, std::nullopt, 1.0}};
  for (const std::string& name : names) {
    const auto wanted = asked(name);
    const auto is_same = [&](const Asked& other) {
      return other.of_one == wanted->of_one && other.number == wanted->number;
    };
    if (wanted && std::ranges::none_of(values, is_same)) values.push_back(*wanted);
  }
  return values;
}

}  // namespace

std::vector<std::string> curve_metric_names(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (asked(name)) found.push_back(name);
  }
  return found;
}

std::vector<metrics::MetricValue> curve_metrics(Curves curves,
                                                const std::vector<std::string>& names,
                                                const CurveRules& rules) {
  std::vector<metrics::MetricValue> values;
  for (const std::string& name : names) {
    values.push_back(named(name, metric_of(curves, name, rules)));
  }
  return values;
}

std::vector<metrics::MetricValue> replicate_metrics(Curves replicate, Curves whole,
                                                    const std::vector<std::string>& names,
                                                    const CurveRules& rules) {
  // The formulas put a fixed value, 0 for example, in the place of a metric that a class does not
  // define. In replicates that would come and go with the draw, and percentiles would mix two
  // distributions.
  bool lost_positives = false;
  bool lost_negatives = false;
  for (std::size_t c = 0; c < whole.size(); ++c) {
    lost_positives |= whole[c].positives > 0 && replicate[c].positives == 0;
    lost_negatives |= whole[c].negatives > 0 && replicate[c].negatives == 0;
  }
  std::vector<metrics::MetricValue> values;
  for (const std::string& name : names) {
    const auto wanted = asked(name);
    const bool is_weighted = wanted && wanted->average == Average::weighted;
    const bool is_lost = lost_negatives || (lost_positives && !is_weighted);
    values.push_back(named(name, is_lost ? MetricRule{} : metric_of(replicate, name, rules)));
  }
  return values;
}

void add_class_metrics(Curves curves, const std::vector<std::string>& names,
                       std::vector<metrics::ClassMetrics>& classes) {
  for (const Asked& metric : metrics_of_classes(names)) {
    for (std::size_t c = 0; c < curves.size() && c < classes.size(); ++c) {
      classes[c].values.push_back(named(metric.name_of_one(), metric.of(curves[c])));
    }
  }
}

}  // namespace tally::ordered_metrics
