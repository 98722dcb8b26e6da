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
  // No label belongs to the category of samples without scores, so it adds nothing to the other
  // sums.
  margins.predictions_squared += Wide{without_scores} * without_scores;
  return margins;
}

// This is Cohen's kappa, as in cohen_kappa_score and MulticlassCohenKappa: 1 - (1 - observed) / (1
// - chance agreement), both multiplied by N^2, so that they are whole numbers. It is undefined
// where chance agrees always.
std::optional<double> kappa(const Margins& margins) {
  const Wide expected = margins.all * margins.all - margins.chance;
  if (expected == 0) return std::nullopt;
  const Wide observed = margins.all * margins.right - margins.chance;
  return static_cast<double>(observed) / static_cast<double>(expected);
}

// Up to so many classes the sums of squares fit into Wide: 2^20 squared, times two counts of up to
// 2^40.
constexpr std::int64_t kMostClassesSquared = std::int64_t{1} << 20;

// Returns what labels and predictions that are drawn apart from one another would give: the sum
// over all pairs of a label and a prediction of their distance, or of its square. One pass over the
// margins does it, without the table of all pairs of classes.
double expected_distance(const Results& results, bool squared) {
  Wide sum = 0;
  Wide labels_up_to = 0;
  Wide predictions_up_to = 0;
  Wide first[2] = {0, 0};   // sums of class * count, of labels and predictions
  Wide second[2] = {0, 0};  // of class^2 * count
  // There are as many predictions as labels: weighted_kappa() refuses samples without scores.
  const Wide all = results.counts.finite();
  for (const ClassMetrics& values : results.per_class) {
    const Wide c = values.index;
    const Wide labels = values.support;
    const Wide predictions = values.predicted;
    labels_up_to += labels;
    predictions_up_to += predictions;
    // |i - j| is the number of boundaries between two classes, and each boundary lies between so
    // many pairs.
    sum += labels_up_to * (all - predictions_up_to) + predictions_up_to * (all - labels_up_to);
    first[0] += c * labels;
    first[1] += c * predictions;
    second[0] += c * c * labels;
    second[1] += c * c * predictions;
  }
  // This is (i - j)^2 = i^2 + j^2 - 2 i j, summed over all pairs.
  return static_cast<double>(squared ? all * (second[0] + second[1]) - 2 * first[0] * first[1]
                                     : sum);
}

// This is Cohen's kappa with the weights |i - j| or (i - j)^2: 1 - observed / expected. It is
// undefined where samples have no prediction, since "no class" is at no distance from a label.
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
    // Sums of distances are whole numbers, but over 2^40 samples they exceed an int64 counter.
    // Exact sums hold them.
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
  // These are the covariance of labels and predictions and their variances, each times N^2, as
  // Gorodkin (2004) defines them of more than two classes.
  const Wide covariance = margins.all * margins.right - margins.chance;
  const Wide of_labels = margins.all * margins.all - margins.supports_squared;
  const Wide of_predictions = margins.all * margins.all - margins.predictions_squared;
  // scikit-learn gives 0 here; torchmetrics has special values for two classes (docs/metrics.md).
  if (of_labels == 0 || of_predictions == 0) return 0.0;
  // The product of both would not fit into 128 bits, so each has its own root.
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
