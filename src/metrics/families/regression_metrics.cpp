// SPDX-License-Identifier: Apache-2.0
#include "families/regression_metrics.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/exact/rational.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

using exact::Rational;
using exact::SumKind;

// These bits say which sums a metric is made of.
constexpr unsigned kX = 1;
constexpr unsigned kY = 2;
constexpr unsigned kDistance = 4;
constexpr unsigned kXx = 8;
constexpr unsigned kYy = 16;
constexpr unsigned kXy = 32;
constexpr unsigned kPercentage = 64;
constexpr unsigned kSquaredError = kXx | kYy | kXy;
constexpr unsigned kAllMoments = kX | kY | kSquaredError;

// These are sums over the samples of one output, or of all of them; what is not kept is 0.
struct RegressionSums {
  std::int64_t count = 0;
  Rational x, y, distance, xx, yy, xy, percentage;

  Rational squared_error() const { return xx - 2 * xy + yy; }
  // count^2 times the (biased) variances and the covariance: no division, so no fractions.
  Rational variance_x() const { return count * xx - x * x; }
  Rational variance_y() const { return count * yy - y * y; }
  Rational covariance() const { return count * xy - x * y; }

  void add(const RegressionSums& other) {
    count += other.count;
    x = x + other.x;
    y = y + other.y;
    distance = distance + other.distance;
    xx = xx + other.xx;
    yy = yy + other.yy;
    xy = xy + other.xy;
    percentage = percentage + other.percentage;
  }
};

using Value = std::optional<double>;

Value mean_squared_error(const RegressionSums& sums) {
  return (sums.squared_error() / sums.count).to_double();
}

Value root_mean_squared_error(const RegressionSums& sums) {
  return (sums.squared_error() / sums.count).sqrt_to_double();
}

Value mean_absolute_error(const RegressionSums& sums) {
  return (sums.distance / sums.count).to_double();
}

Value mean_percentage_error(const RegressionSums& sums) {
  return (sums.percentage / sums.count).to_double();
}

// 1 - rest / total. Where all targets are equal: 1 if nothing is left to explain, else 0, as in
// torchmetrics and scikit-learn.
double explained(const Rational& rest, const Rational& total) {
  if (rest.is_zero()) return 1.0;
  if (total.is_zero()) return 0.0;
  return ((total - rest) / total).to_double();
}

Value r_squared(const RegressionSums& sums) {
  // One target has no spread to explain.
  if (sums.count < 2) return std::nullopt;
  return explained(sums.count * sums.squared_error(), sums.variance_y());
}

Value explained_variance(const RegressionSums& sums) {
  const Rational bias = sums.x - sums.y;
  return explained(sums.count * sums.squared_error() - bias * bias, sums.variance_y());
}

// The root of its exact square keeps all digits.
Value pearson(const RegressionSums& sums) {
  const Rational scale = sums.variance_x() * sums.variance_y();
  if (scale.is_zero()) return std::nullopt;
  const Rational covariance = sums.covariance();
  return covariance.sign() * (covariance * covariance / scale).sqrt_to_double();
}

// Lin (1989), with the variances of a sample (n - 1), as torchmetrics has them:
// 2 cov / (var x + var y + (mean x - mean y)^2), each times n^2 (n - 1).
Value concordance(const RegressionSums& sums) {
  const Rational variance_x = sums.variance_x();
  const Rational variance_y = sums.variance_y();
  if (variance_x.is_zero() || variance_y.is_zero()) return std::nullopt;
  const Rational bias = sums.x - sums.y;
  const Rational whole = sums.count * (variance_x + variance_y) + (sums.count - 1) * (bias * bias);
  return (2 * sums.count * sums.covariance() / whole).to_double();
}

struct MetricRule {
  MetricDescription metric;
  unsigned needs = 0;
  bool pooled = false;  // all outputs' elements are one sample, else the outputs are averaged
  Value (*of)(const RegressionSums& sums) = nullptr;
};

const std::array<MetricRule, 8>& all_metrics() {
  static const std::array<MetricRule, 8> kMetrics{{
      {{.name = "mse", .definition = "mean squared error", .less_is_better = true},
       kSquaredError,
       true,
       mean_squared_error},
      {{.name = "rmse", .definition = "root of the mean squared error", .less_is_better = true},
       kSquaredError,
       true,
       root_mean_squared_error},
      {{.name = "mae", .definition = "mean absolute error", .less_is_better = true},
       kDistance,
       true,
       mean_absolute_error},
      {{.name = "r2", .definition = "R^2: 1 - squared error / spread of the targets"},
       kSquaredError | kY,
       false,
       r_squared},
      {{.name = "explained_variance",
        .definition = "1 - variance of the errors / variance of the targets"},
       kAllMoments,
       false,
       explained_variance},
      {{.name = "pearson", .definition = "Pearson's correlation of predictions and targets"},
       kAllMoments,
       false,
       pearson},
      {{.name = "concordance",
        .definition = "Lin's concordance: correlation that counts bias and scale as well",
        .standard = false},
       kAllMoments,
       false,
       concordance},
      {{.name = "mape",
        .definition = "mean of |error| / |target|, a fraction",
        .less_is_better = true},
       kPercentage,
       true,
       mean_percentage_error},
  }};
  return kMetrics;
}

// Below it a target counts as so large: torchmetrics' and scikit-learn's epsilon.
double smallest_target(Definitions definitions) {
  return definitions == Definitions::sklearn ? std::numeric_limits<double>::epsilon() : 1.17e-06;
}

Value mean_over(const std::vector<Value>& values) {
  std::vector<std::int64_t> limbs(to_size(exact::num_limbs(SumKind::float64)));
  for (const Value& value : values) {
    if (!value) return std::nullopt;
    exact::add(limbs, *value);
  }
  exact::canonicalise(limbs);
  return exact::mean(limbs, SumKind::float64, std::ssize(values));
}

class Regression : public Family {
 public:
  explicit Regression(const MetricOptions& options)
      : num_outputs_(options.num_classes), maps_(options.maps), definitions_(options.definitions) {
    if (maps_ && num_outputs_ != 1) {
      throw Error(ErrorKind::internal, format("maps of {} outputs", num_outputs_));
    }
    for (const MetricRule& metric : all_metrics()) {
      if (contains(options.names, metric.metric.name)) metrics_.push_back(&metric);
    }
  }

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    RegressionCounters& kept = counters.regression;
    kept.float32_limbs = exact::num_limbs(SumKind::float32);
    kept.float64_limbs = exact::num_limbs(SumKind::float64);
    kept.smallest_target = smallest_target(definitions_);
    if (maps_) {
      pixels_ = layout.add_counters("regression.pixels", 1);
      kept.pixels = pixels_->offset;
    }
    declare_sums(kDistance, "distance", SumKind::float32, layout, distance_, kept.distance);
    declare_sums(kPercentage, "percentage", SumKind::float64, layout, percentage_, kept.percentage);
    declare_sums(kX, "x", SumKind::float32, layout, x_, kept.x);
    declare_sums(kXx, "xx", SumKind::float64, layout, xx_, kept.xx);
    declare_sums(kXy, "xy", SumKind::float64, layout, xy_, kept.xy);
    declare_sums(kY, "y", SumKind::float32, layout, y_, kept.y);
    declare_sums(kYy, "yy", SumKind::float64, layout, yy_, kept.yy);
    if (maps_) kept.num_sums = layout.length() - kept.pixels;
  }

  void finalize(const exact::State& state, Results& results) const override {
    std::vector<std::vector<Value>> values(metrics_.size());
    RegressionSums all;
    for (std::int64_t output = 0; output < num_outputs_; ++output) {
      const std::int64_t count = pixels_ ? state.of(*pixels_)[0] : results.counts.finite();
      const RegressionSums sums = sums_of(output, count, state);
      all.add(sums);
      ClassMetrics made{.index = output, .support = sums.count, .values = {}};
      for (std::size_t f = 0; f < metrics_.size(); ++f) {
        values[f].push_back(value_of(*metrics_[f], sums));
        made.values.push_back({std::string(metrics_[f]->metric.name), values[f].back()});
      }
      results.per_class.push_back(std::move(made));
    }
    for (std::size_t f = 0; f < metrics_.size(); ++f) {
      const Value value =
          is_pooled(*metrics_[f]) ? value_of(*metrics_[f], all) : mean_over(values[f]);
      results.metrics.push_back({std::string(metrics_[f]->metric.name), value});
    }
  }

 private:
  void declare_sums(unsigned need, std::string_view name, SumKind kind, exact::StateLayout& layout,
                    std::vector<exact::StateSpan>& spans, std::int64_t& offset) const {
    const auto needs = [need](const MetricRule* metric) { return (metric->needs & need) != 0; };
    if (std::ranges::none_of(metrics_, needs)) return;
    for (std::int64_t output = 0; output < num_outputs_; ++output) {
      spans.push_back(layout.add_sum(format("regression.{}.{}", name, output), kind));
    }
    offset = spans.front().offset;
  }

  RegressionSums sums_of(std::int64_t output, std::int64_t count, const exact::State& state) const {
    const auto read = [&](const std::vector<exact::StateSpan>& spans, SumKind kind) {
      return spans.empty() ? Rational() : Rational(state.of(spans[to_size(output)]), kind);
    };
    return {.count = count,
            .x = read(x_, SumKind::float32),
            .y = read(y_, SumKind::float32),
            .distance = read(distance_, SumKind::float32),
            .xx = read(xx_, SumKind::float64),
            .yy = read(yy_, SumKind::float64),
            .xy = read(xy_, SumKind::float64),
            .percentage = read(percentage_, SumKind::float64)};
  }

  static Value value_of(const MetricRule& metric, const RegressionSums& sums) {
    return sums.count == 0 ? std::nullopt : metric.of(sums);
  }

  // scikit-learn averages the outputs' roots.
  bool is_pooled(const MetricRule& metric) const {
    return metric.pooled &&
           !(definitions_ == Definitions::sklearn && metric.of == root_mean_squared_error);
  }

  std::int64_t num_outputs_;
  bool maps_;
  std::optional<exact::StateSpan> pixels_;  // of maps
  Definitions definitions_;
  std::vector<const MetricRule*> metrics_;                                      // those wanted
  std::vector<exact::StateSpan> distance_, percentage_, x_, xx_, xy_, y_, yy_;  // [outputs]
};

}  // namespace

FamilyEntry regression_family() {
  FamilyEntry entry{.metrics = {},
                    .kept = Kept::always,  // for the outputs and their number of samples
                    .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
                      return std::make_unique<Regression>(options);
                    }};
  for (const MetricRule& metric : all_metrics()) entry.metrics.push_back(metric.metric);
  return entry;
}

FamilyEntry rank_correlation_family() {
  return {
      .metrics = {{.name = "spearman",
                   .definition = "Spearman's correlation: Pearson's of the ranks",
                   .standard = false,
                   .needs_order = true}},
      .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
        return std::make_unique<DeferredFamily>();
      },
      .obstacle = [](const MetricOptions& options, std::string_view) -> std::optional<std::string> {
        if (!options.maps) return std::nullopt;
        return "would put every pixel of all images into one order";
      }};
}

}  // namespace tally::metrics
