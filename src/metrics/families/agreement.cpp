// SPDX-License-Identifier: Apache-2.0
#include "families/agreement.hpp"

#include <cmath>

#include <tally/base/format.hpp>
#include <tally/metrics/name_patterns.hpp>

#include "family_counters.hpp"

namespace tally::metrics {
namespace {

__extension__ using Wide = __int128;  // products of two counts

// Labels and predictions as marginal counts. Samples without scores are predicted as nothing: a
// category of its own, which no label has.
struct Margins {
  Wide all = 0;
  Wide right = 0;
  Wide chance = 0;            // sum of support * predicted
  Wide supports_squared = 0;  // sums of squares
  Wide predictions_squared = 0;
};

Margins margins_of(const std::vector<ClassMetrics>& classes, std::int64_t scored,
                   std::int64_t without_scores) {
  Margins margins;
  margins.all = scored;
  for (const ClassMetrics& values : classes) {
    margins.right += values.correct;
    margins.chance += Wide{values.support} * values.predicted;
    margins.supports_squared += Wide{values.support} * values.support;
    margins.predictions_squared += Wide{values.predicted} * values.predicted;
  }
  margins.predictions_squared += Wide{without_scores} * without_scores;
  return margins;
}

// 1 - (1 - observed) / (1 - chance agreement); none where chance agrees always.
std::optional<double> kappa(const Margins& margins) {
  const Wide expected = margins.all * margins.all - margins.chance;
  if (expected == 0) return std::nullopt;
  const Wide observed = margins.all * margins.right - margins.chance;
  return static_cast<double>(observed) / static_cast<double>(expected);
}

// Up to so many classes the squares of 2^40 samples fit into Wide.
constexpr std::int64_t kMostClassesSquared = std::int64_t{1} << 20;

// Of labels and predictions drawn apart from one another: the sum over pairs of their distance, or
// of its square, times the number of labels and predictions.
double expected_distance(const Results& results, bool squared) {
  Wide sum = 0;
  Wide labels_up_to = 0;
  Wide predictions_up_to = 0;
  Wide first[2] = {0, 0};   // sums of class * count, of labels and predictions
  Wide second[2] = {0, 0};  // of class^2 * count
  const Wide all = results.counts.finite();
  for (const ClassMetrics& values : results.per_class) {
    const Wide c = values.index;
    const Wide labels = values.support;
    const Wide predictions = values.predicted;
    labels_up_to += labels;
    predictions_up_to += predictions;
    // Each boundary between two classes lies between so many pairs.
    sum += labels_up_to * (all - predictions_up_to) + predictions_up_to * (all - labels_up_to);
    first[0] += c * labels;
    first[1] += c * predictions;
    second[0] += c * c * labels;
    second[1] += c * c * predictions;
  }
  return static_cast<double>(squared ? all * (second[0] + second[1]) - 2 * first[0] * first[1]
                                     : sum);
}

// With weights |i - j| or (i - j)^2: 1 - observed / expected. None where samples have no
// prediction, for they are at no distance.
std::optional<double> weighted_kappa(double observed, bool squared, const Results& results) {
  if (results.counts.without_scores > 0) return std::nullopt;
  const double expected = expected_distance(results, squared);
  if (expected == 0) return std::nullopt;
  return 1.0 - static_cast<double>(results.counts.scored) * observed / expected;
}

class Agreement : public Family {
 public:
  explicit Agreement(MetricOptions options) : options_(std::move(options)) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    if (contains(options_.names, "cohen_kappa_linear")) {
      distance_ = layout.add_sum("agreement.distance", kSumKind);
      counters.agreement.distance = distance_.offset;
    }
    if (contains(options_.names, "cohen_kappa_quadratic")) {
      square_ = layout.add_sum("agreement.square", kSumKind);
      counters.agreement.square = square_.offset;
    }
  }

  void finalize(const exact::State& state, Results& results) const override {
    const auto& classes = results.per_class;
    results.metrics.push_back({"cohen_kappa", kappa(margins_of(classes, results.counts.scored,
                                                               results.counts.without_scores))});
    append_weighted("cohen_kappa_linear", distance_, false, state, results);
    append_weighted("cohen_kappa_quadratic", square_, true, state, results);
    results.metrics.push_back(
        {"mcc", matthews(classes, results.counts.scored, results.counts.without_scores)});
  }

 private:
  static void append_weighted(const char* name, const exact::StateSpan& sum, bool squared,
                              const exact::State& state, Results& results) {
    if (sum.length == 0) return;
    const double observed = exact::value(state.of(sum), kSumKind);
    results.metrics.push_back({name, weighted_kappa(observed, squared, results)});
  }

  MetricOptions options_;
  exact::StateSpan distance_, square_;
};

}  // namespace

std::optional<double> matthews(const std::vector<ClassMetrics>& classes, std::int64_t scored,
                               std::int64_t without_scores) {
  const Margins margins = margins_of(classes, scored, without_scores);
  if (margins.all == 0) return std::nullopt;
  const Wide covariance = margins.all * margins.right - margins.chance;
  const Wide of_labels = margins.all * margins.all - margins.supports_squared;
  const Wide of_predictions = margins.all * margins.all - margins.predictions_squared;
  if (of_labels == 0 || of_predictions == 0) return 0.0;
  return static_cast<double>(covariance) / std::sqrt(static_cast<double>(of_labels)) /
         std::sqrt(static_cast<double>(of_predictions));
}

FamilyEntry agreement_family() {
  return {.metrics = {{.name = "cohen_kappa",
                       .definition = "agreement of labels and predictions beyond chance"},
                      {.name = "cohen_kappa_linear",
                       .definition = "the same, disagreement weighted by |i - j|",
                       .standard = false},
                      {.name = "cohen_kappa_quadratic",
                       .definition = "the same, disagreement weighted by (i - j)^2",
                       .standard = false},
                      {.name = "mcc", .definition = "Matthews' correlation coefficient"}},
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<Agreement>(options);
          },
          .obstacle = [](const MetricOptions& options,
                         std::string_view metric) -> std::optional<std::string> {
            if (metric != "cohen_kappa_quadratic" || options.num_classes <= kMostClassesSquared) {
              return std::nullopt;
            }
            return format("is for at most {} classes", kMostClassesSquared);
          }};
}

}  // namespace tally::metrics
