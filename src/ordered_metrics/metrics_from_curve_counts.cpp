// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/metrics_from_curve_counts.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/exact/sum.hpp>

#include "curve_walk.hpp"
#include "int128.hpp"

namespace tally::ordered_metrics {
namespace {

double as_double(std::int64_t count) { return static_cast<double>(count); }

// Twice the area, in units of pairs, below the polyline from the left up to `limit` false
// positives.
double twice_area_up_to(const CurveCounts& counts, double limit) {
  Wide whole = 0;   // of segments that end at or before the limit
  double rest = 0;  // of the segment that crosses it
  CurvePlace from;
  walk(counts, [&](const CurvePlace& to) {
    const std::int64_t width = to.false_positives - from.false_positives;
    const std::int64_t rise = to.true_positives - from.true_positives;
    if (as_double(to.false_positives) > limit) {
      // This is twice a trapezoid of width `part`, whose upper side is the straight line between
      // the two places. `width` is above 0: `from` lies at or before the limit, `to` behind it.
      const double part = limit - as_double(from.false_positives);
      rest =
          part * (2 * as_double(from.true_positives) + part * as_double(rise) / as_double(width));
      return false;
    }
    whole += Wide{width} * (from.true_positives + to.true_positives);
    from = to;
    return true;
  });
  return static_cast<double>(whole) + rest;
}

// precision of a > precision of b, or equal; exact.
bool is_at_least_as_precise(const CurvePlace& a, const CurvePlace& b) {
  return Wide{a.true_positives} * (b.true_positives + b.false_positives) >=
         Wide{b.true_positives} * (a.true_positives + a.false_positives);
}

}  // namespace

// The area below the trapezoids equals the Mann-Whitney statistic over the number of pairs, so that
// it is made of whole numbers and rounded once. scikit-learn's roc_auc_score and torchmetrics'
// BinaryAUROC are the same but for rounding.
std::optional<double> auroc(const CurveCounts& counts) {
  if (counts.positives == 0 || counts.negatives == 0) return std::nullopt;
  Wide twice_wins = 0;  // of positives over negatives, a tie counting half
  std::int64_t not_below = 0;
  for (std::size_t i = 0; i < counts.thresholds.size(); ++i) {
    not_below += counts.negatives_above[i] + counts.negatives_at[i];
    twice_wins += Wide{counts.positives_at[i]} *
                  (2 * (counts.negatives - not_below) + counts.negatives_at[i]);
  }
  return rounded_ratio(twice_wins, 2 * Wide{counts.positives} * counts.negatives);
}

std::optional<double> partial_auroc(const CurveCounts& counts, double max_fpr) {
  if (!(max_fpr > 0 && max_fpr <= 1)) {
    throw Error(ErrorKind::usage,
                format("a false positive rate of {} bounds no area under a ROC curve", max_fpr),
                "It is above 0 and at most 1.");
  }
  if (max_fpr == 1 || counts.positives == 0 || counts.negatives == 0) return auroc(counts);
  const double pairs = as_double(counts.positives) * as_double(counts.negatives);
  const double area = twice_area_up_to(counts, max_fpr * as_double(counts.negatives)) / (2 * pairs);
  // McClish (1989), as scikit-learn has it: the area below the diagonal maps to 0.5, the largest
  // area there is, max_fpr, to 1.
  const double smallest = 0.5 * max_fpr * max_fpr;
  return 0.5 * (1 + (area - smallest) / (max_fpr - smallest));
}

std::optional<double> average_precision(const CurveCounts& counts) {
  if (counts.positives == 0) return std::nullopt;
  // R_n - R_{n-1} is positives_here / positives: the division by all positives is done once, after
  // an exact sum. So a term has the roundings of its precision and of one product only.
  std::vector<double> terms;
  terms.reserve(counts.thresholds.size());
  for_each_threshold(counts, [&](const CurvePlace& place) {
    terms.push_back(as_double(place.positives_here) * precision_of(place));
  });
  std::vector<std::int64_t> limbs(to_size(exact::num_limbs(exact::SumKind::float64)));
  exact::add_all(limbs, std::span<const double>(terms));
  return exact::mean(limbs, exact::SumKind::float64, counts.positives);
}

std::optional<OperatingPoint> precision_at_recall(const CurveCounts& counts, double min_recall) {
  if (counts.positives == 0) return std::nullopt;
  std::optional<CurvePlace> best;
  for_each_threshold(counts, [&](const CurvePlace& place) {
    if (as_double(place.true_positives) / as_double(counts.positives) < min_recall) return;
    if (!best || is_at_least_as_precise(place, *best)) best = place;
  });
  if (!best) return OperatingPoint{};
  return OperatingPoint{precision_of(*best), best->threshold};
}

std::optional<OperatingPoint> recall_at_precision(const CurveCounts& counts, double min_precision) {
  if (counts.positives == 0) return std::nullopt;
  OperatingPoint best;
  for_each_threshold(counts, [&](const CurvePlace& place) {
    if (precision_of(place) < min_precision) return;
    best = {as_double(place.true_positives) / as_double(counts.positives), place.threshold};
  });
  return best;
}

namespace {

using metrics::Definitions;

// Says what an undefined metric of a class means to an average.
enum class Undefined { counts_as_zero, left_out, spoils_the_average };

Undefined meaning(CurveMetric metric, Targets targets, Definitions definitions) {
  if (metric == CurveMetric::auroc) {
    return definitions == Definitions::torchmetrics ? Undefined::counts_as_zero
                                                    : Undefined::spoils_the_average;
  }
  const bool is_precision = metric == CurveMetric::average_precision;
  return is_precision && definitions == Definitions::torchmetrics && targets == Targets::multiclass
             ? Undefined::left_out
             : Undefined::counts_as_zero;
}

// This is sum(value * weight) / sum(weight) of what is added. Each product is rounded, their sum is
// exact, so that the order of the classes does not matter.
class WeightedMean {
 public:
  void add(double value, std::int64_t weight) {
    exact::add(limbs_, value * static_cast<double>(weight));
    total_ += weight;
  }
  std::optional<double> value() {
    if (total_ == 0) return std::nullopt;
    exact::canonicalise(limbs_);
    return exact::mean(limbs_, exact::SumKind::float64, total_);
  }

 private:
  std::vector<std::int64_t> limbs_ =
      std::vector<std::int64_t>(to_size(exact::num_limbs(exact::SumKind::float64)));
  std::int64_t total_ = 0;
};

}  // namespace

std::optional<double> average_over_classes(std::span<const CurveCounts> curves,
                                           std::span<const std::optional<double>> values,
                                           CurveMetric metric, Average average, Targets targets,
                                           Definitions definitions) {
  if (curves.size() != values.size()) {
    throw Error(ErrorKind::internal, "an average needs one metric of each class");
  }
  const auto has_samples = [](const CurveCounts& c) { return c.positives + c.negatives > 0; };
  if (std::ranges::none_of(curves, has_samples)) return std::nullopt;
  // The average of one label is its own value: weighting by its positives would turn an undefined
  // one into 0 in every case.
  const bool is_weighted = average == Average::weighted && curves.size() > 1;
  const Undefined undefined = meaning(metric, targets, definitions);
  WeightedMean mean;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::int64_t weight = is_weighted ? curves[c].positives : 1;
    if (!values[c] && weight > 0 && undefined == Undefined::spoils_the_average) {
      return std::nullopt;
    }
    if (values[c] || undefined == Undefined::counts_as_zero) {
      mean.add(values[c].value_or(0.0), weight);
    }
  }
  return is_weighted ? mean.value().value_or(0.0) : mean.value();
}

}  // namespace tally::ordered_metrics
