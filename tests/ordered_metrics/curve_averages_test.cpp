// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

#include <algorithm>

#include <tally/base/error.hpp>
#include <tally/ordered_metrics/curve_metrics.hpp>

#include "curves.hpp"
#include "expect_error.hpp"

namespace tally::ordered_metrics {
namespace {

using metrics::Definitions;
using Values = std::vector<std::optional<double>>;

CurveCounts with(std::int64_t positives, std::int64_t negatives) {
  CurveCounts counts;
  counts.positives = positives;
  counts.negatives = negatives;
  return counts;
}

// Classes with 1 and 3 positives, one without positives.
const std::vector<CurveCounts> kOneAbsent{with(1, 3), with(3, 1), with(0, 4)};
const Values kValues{0.5, 0.75, std::nullopt};

struct Rule {
  CurveMetric metric;
  Average average;
  Targets targets;
  Definitions definitions;
  std::optional<double> expected;
};

TEST(CurveAverages, OfAClassWithoutPositivesFollowTheDefinitions) {
  const auto expect = [](const Rule& rule) {
    EXPECT_EQ(average_over_classes(kOneAbsent, kValues, rule.metric, rule.average, rule.targets,
                                   rule.definitions),
              rule.expected);
  };
  const double weighted = (0.5 + 3 * 0.75) / 4;
  for (const auto targets : {Targets::multiclass, Targets::labels}) {
    expect({CurveMetric::auroc, Average::macro, targets, Definitions::torchmetrics, 1.25 / 3});
    expect({CurveMetric::auroc, Average::macro, targets, Definitions::sklearn, std::nullopt});
    for (const auto definitions : {Definitions::torchmetrics, Definitions::sklearn}) {
      for (const auto metric : {CurveMetric::auroc, CurveMetric::average_precision}) {
        expect({metric, Average::weighted, targets, definitions, weighted});
      }
    }
    expect(
        {CurveMetric::average_precision, Average::macro, targets, Definitions::sklearn, 1.25 / 3});
  }
  expect({CurveMetric::average_precision, Average::macro, Targets::multiclass,
          Definitions::torchmetrics, 0.625});
  expect({CurveMetric::average_precision, Average::macro, Targets::labels,
          Definitions::torchmetrics, 1.25 / 3});
}

TEST(CurveAverages, OfOperatingPointsCountAClassWithoutPositivesAsZero) {
  for (const auto targets : {Targets::multiclass, Targets::labels}) {
    for (const auto definitions : {Definitions::torchmetrics, Definitions::sklearn}) {
      EXPECT_EQ(average_over_classes(kOneAbsent, kValues, CurveMetric::operating_point,
                                     Average::macro, targets, definitions),
                1.25 / 3);
    }
  }
}

TEST(CurveAverages, OfAClassWithoutNegativesFollowTheDefinitions) {
  const std::vector<CurveCounts> curves{with(4, 0), with(1, 3)};
  const Values values{std::nullopt, 0.5};
  const auto of = [&](Average average, Definitions definitions) {
    return average_over_classes(curves, values, CurveMetric::auroc, average, Targets::labels,
                                definitions);
  };
  EXPECT_EQ(of(Average::macro, Definitions::torchmetrics), 0.25);
  EXPECT_EQ(of(Average::weighted, Definitions::torchmetrics), 0.1);
  EXPECT_EQ(of(Average::macro, Definitions::sklearn), std::nullopt);
  EXPECT_EQ(of(Average::weighted, Definitions::sklearn), std::nullopt);
}

TEST(CurveAverages, OfOneLabelAreItsValue) {
  const std::vector<CurveCounts> curves{with(0, 4)};
  const Values values{std::nullopt};
  for (const auto average : {Average::macro, Average::weighted}) {
    const auto of = [&](CurveMetric metric, Definitions definitions) {
      return average_over_classes(curves, values, metric, average, Targets::labels, definitions);
    };
    EXPECT_EQ(of(CurveMetric::auroc, Definitions::torchmetrics), 0.0);
    EXPECT_EQ(of(CurveMetric::auroc, Definitions::sklearn), std::nullopt);
    EXPECT_EQ(of(CurveMetric::average_precision, Definitions::torchmetrics), 0.0);
    EXPECT_EQ(of(CurveMetric::average_precision, Definitions::sklearn), 0.0);
  }
}

TEST(CurveAverages, OfNothingAreUndefined) {
  const std::vector<CurveCounts> empty(3);
  const Values values(3);
  EXPECT_EQ(average_over_classes(empty, values, CurveMetric::auroc, Average::macro,
                                 Targets::multiclass, Definitions::torchmetrics),
            std::nullopt);
  const std::vector<CurveCounts> no_positives(2, with(0, 4));
  const Values two(2);
  EXPECT_EQ(average_over_classes(no_positives, two, CurveMetric::average_precision, Average::macro,
                                 Targets::multiclass, Definitions::torchmetrics),
            std::nullopt);
  EXPECT_EQ(average_over_classes(no_positives, two, CurveMetric::auroc, Average::weighted,
                                 Targets::labels, Definitions::sklearn),
            0.0);
}

TEST(CurveAverages, NeedAFigureOfEachClass) {
  expect_error(ErrorKind::internal, {"one metric of each class"}, [] {
    average_over_classes(kOneAbsent, Values(2), CurveMetric::auroc, Average::macro,
                         Targets::multiclass, Definitions::sklearn);
  });
}

CurveCounts one_threshold(std::int64_t positives, std::int64_t negatives) {
  return {.thresholds = {0.5f},
          .positives_at = {positives},
          .negatives_at = {0},
          .negatives_above = {0},
          .positives = positives,
          .negatives = negatives};
}

TEST(ReplicateMetrics, AreUndefinedWhereAClassWasLost) {
  const std::vector<std::string> names{"auroc_macro", "auroc_weighted", "average_precision_macro"};
  const CurveRules rules{Targets::labels, Definitions::torchmetrics};
  const std::vector<CurveCounts> whole{one_threshold(2, 3), one_threshold(1, 4),
                                       one_threshold(0, 5)};
  const auto defined = [&](CurveCounts first, CurveCounts second) {
    const std::vector<CurveCounts> replicate{std::move(first), std::move(second),
                                             one_threshold(0, 5)};
    std::vector<bool> found;
    for (const auto& value : replicate_metrics(replicate, whole, names, rules)) {
      found.push_back(value.value.has_value());
    }
    return found;
  };
  using Found = std::vector<bool>;
  EXPECT_EQ(defined(one_threshold(3, 2), one_threshold(2, 3)), (Found{true, true, true}))
      << "the third class had no positive to lose";
  EXPECT_EQ(defined(one_threshold(3, 2), one_threshold(0, 5)), (Found{false, true, false}));
  EXPECT_EQ(defined(one_threshold(4, 0), one_threshold(2, 3)), (Found{false, false, false}));
}

TEST(CurveMetrics, OperatingPointsHaveTheirThreshold) {
  // Precision 1, 1/2, 2/3, 3/4 and recall 1/3, 1/3, 2/3, 1 from the largest score down.
  const std::vector<CurveCounts> one{slow_counts({0.9F, 0.8F, 0.7F, 0.6F}, {1, 0, 1, 1})};
  const auto found = curve_metrics(
      one, {"precision_at_recall_0.4", "recall_at_precision_0.8", "auroc", "average_precision"},
      {});
  EXPECT_EQ(found[0].threshold.value().score, 0.6F);
  EXPECT_EQ(found[1].threshold.value().score, 0.9F);
  EXPECT_FALSE(found[2].threshold || found[3].threshold);
}

TEST(CurveMetrics, HaveNoThresholdWhereNothingMeetsTheCondition) {
  const std::vector<CurveCounts> never{slow_counts({0.9F, 0.1F}, {0, 1})};
  const std::vector<CurveCounts> no_positives{slow_counts({0.9F, 0.1F}, {0, 0})};
  const auto found_in = [](const std::vector<CurveCounts>& curves) {
    return curve_metrics(curves, {"recall_at_precision_0.9"}, {})[0];
  };
  EXPECT_EQ(found_in(never).value, 0.0);
  EXPECT_EQ(found_in(never).threshold.value().score, std::nullopt);
  EXPECT_EQ(found_in(no_positives).value, std::nullopt);
  EXPECT_EQ(found_in(no_positives).threshold.value().score, std::nullopt);
}

TEST(CurveMetrics, ThresholdsAreThoseOfClassesAndNotOfAverages) {
  const std::vector<CurveCounts> two{slow_counts({0.9F, 0.2F}, {1, 0}),
                                     slow_counts({0.3F, 0.4F}, {1, 0})};
  const std::vector<std::string> names{"auroc_macro", "precision_at_recall_0.5_macro"};
  for (const auto& average : curve_metrics(two, names, {})) EXPECT_FALSE(average.threshold);
  std::vector<metrics::ClassMetrics> classes(2);
  add_class_metrics(two, names, classes);
  const auto threshold_of = [&](std::size_t c, std::string_view name) {
    return std::ranges::find(classes[c].values, name, &metrics::MetricValue::name)->threshold;
  };
  EXPECT_EQ(threshold_of(0, "precision_at_recall_0.5").value().score, 0.9F);
  EXPECT_EQ(threshold_of(1, "precision_at_recall_0.5").value().score, 0.3F);
  EXPECT_FALSE(threshold_of(0, "auroc"));
}

}  // namespace
}  // namespace tally::ordered_metrics
