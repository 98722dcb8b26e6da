// SPDX-License-Identifier: Apache-2.0
// Do 95 % intervals hold the true value in 95 % of cases? Data sets are drawn from a population
// whose metrics are known, since they are computed of it. Seeded: the outcome is always the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <tally/metrics/intervals.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/poisson_weight.hpp>
#include <tally/metrics/precomputed_updates.hpp>

namespace tally::metrics {
namespace {

constexpr std::int64_t kClasses = 4;
constexpr int kDataSets = 600;

// A share found in kDataSets draws lies this near to the true one in 999 of 1000 cases.
double luck(double share) { return 3.3 * std::sqrt(share * (1 - share) / kDataSets); }

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t bound) { return bits_() % bound; }

 private:
  std::mt19937_64 bits_;  // the distributions of std are another on each library
};

// Samples of an overconfident model, whose third class is rare.
std::vector<MulticlassRecord> make_population() {
  Random random(1);
  std::vector<MulticlassRecord> rows(5000);
  for (MulticlassRecord& row : rows) {
    const double place = random.uniform();
    row.label = place < 0.1 ? 2 : place < 0.4 ? 0 : place < 0.7 ? 1 : 3;
    row.confidence = 0.5 + 0.5 * random.uniform();
    const bool right = random.uniform() < row.confidence - 0.2;
    row.prediction = right ? row.label : (row.label + 1) % kClasses;
    row.label_rank = row.best_rank = row.worst_rank = right ? 0 : 1;
    row.loss = -std::log(right ? row.confidence : (1.001 - row.confidence) / (kClasses - 1));
  }
  return rows;
}

// Draws with replacement; the weights of the bootstrap depend on the indices.
std::vector<MulticlassRecord> draw(const std::vector<MulticlassRecord>& population,
                                   std::int64_t size, std::uint64_t first_index, Random& random) {
  std::vector<MulticlassRecord> rows;
  for (std::int64_t i = 0; i < size; ++i) {
    rows.push_back(population[random.below(population.size())]);
    rows.back().index = first_index + static_cast<std::uint64_t>(i);
  }
  return rows;
}

Results results_of(const MetricSet& metrics, const std::vector<MulticlassRecord>& rows,
                   RowWeights weights = {}) {
  exact::State state(metrics.layout());
  PrecomputedUpdates(metrics, rows).count(weights, state);
  return metrics.finalize(state);
}

bool holds(const Interval& interval, double value) {
  return interval.low <= value && value <= interval.high;
}

TEST(Intervals, WilsonsHoldTheTruthAsOftenAsTheySay) {
  for (const double share : {0.5, 0.8, 0.95, 0.99}) {
    for (const std::int64_t size : {300, 500}) {
      Random random(static_cast<unsigned>(1000 * share) + static_cast<unsigned>(size));
      int held = 0;
      for (int d = 0; d < kDataSets; ++d) {
        Proportion drawn{0, size};
        for (std::int64_t i = 0; i < size; ++i) drawn.part += random.uniform() < share;
        held += holds(wilson(drawn).value(), share);
      }
      // Counts are whole numbers: the exact share for these sizes lies between 94 and 97 %.
      EXPECT_NEAR(static_cast<double>(held) / kDataSets, 0.955, luck(0.95) + 0.015)
          << share << " of " << size;
    }
  }
}

// Percentile intervals of the bootstrap are right for large samples; for hundreds of samples they
// may fall short by a point or two.
TEST(Intervals, BootstrapsHoldTheTruthAsOftenAsTheySay) {
  constexpr std::uint64_t kReplicates = 200;
  constexpr std::int64_t kSize = 300;
  constexpr double kShortfall = 0.02;
  const MetricSet metrics({.num_classes = kClasses,
                           .confusion_max_classes = 0,
                           .names = {"loss", "f1_macro", "ece"},
                           .calibration_bins = 5});
  const auto population = make_population();
  const Results truth = results_of(metrics, population);
  std::map<std::string, int> held;
  Random random(2);
  std::vector<std::uint8_t> weights(kSize);
  for (std::uint64_t d = 0; d < kDataSets; ++d) {
    const auto rows = draw(population, kSize, d << 32, random);
    std::map<std::string, std::vector<double>> replicates;
    for (std::uint64_t r = 0; r < kReplicates; ++r) {
      const PoissonWeights of_replicate(3, r);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = static_cast<std::uint8_t>(of_replicate.of(rows[i].index));
      }
      for (const MetricValue& metric : results_of(metrics, rows, weights).metrics) {
        replicates[metric.name].push_back(metric.value.value());
      }
    }
    for (const auto& [name, values] : replicates) {
      held[name] += holds(percentile_interval(values, std::ssize(values)).value(),
                          truth.find(name)->value.value());
    }
  }
  ASSERT_EQ(held.size(), 3u);
  for (const auto& [name, count] : held) {
    const double share = static_cast<double>(count) / kDataSets;
    RecordProperty(name, std::to_string(share));
    EXPECT_GE(share, 0.95 - kShortfall - luck(0.95)) << name;
    EXPECT_LE(share, 0.95 + luck(0.95)) << name;
  }
}

}  // namespace
}  // namespace tally::metrics
