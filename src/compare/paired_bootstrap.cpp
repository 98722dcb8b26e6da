// SPDX-License-Identifier: Apache-2.0
#include "paired_bootstrap.hpp"

#include <algorithm>
#include <span>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/poisson_weight.hpp>

namespace tally::compare {
namespace {

// The addends of a window, 16 bytes each, are held while all replicates count them, so that their
// number is bounded. With few classes a window of kMostRows rows fits into the cache of a core.
constexpr std::int64_t kMostRows = 2048;
constexpr std::int64_t kMostAddends = std::int64_t{1} << 20;
constexpr std::int64_t kFirstRows = 16;                      // show how much a row adds
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;  // of states held at a time

// What both runs count in one replicate.
struct Counted {
  explicit Counted(const PairedSamples& samples)
      : a(samples.metrics().layout()), b(samples.metrics().layout()) {}
  exact::State a, b;
};

// Calls `visit(first, a, b)` with prepared rows of both runs, window by window.
template <class Visit>
void for_each_window(const PairedSamples& samples, const Visit& visit) {
  std::int64_t rows = kFirstRows;
  for (std::int64_t first = 0; first < samples.size();) {
    const std::int64_t count = std::min(rows, samples.size() - first);
    const auto a = samples.prepare(Side::a, first, count);
    const auto b = samples.prepare(Side::b, first, count);
    visit(first, a, b);
    first += count;
    // The window before shows how many addends a row has; the 1 avoids a division by 0.
    const std::int64_t of_one = 1 + std::max(a.num_addends(), b.num_addends()) / count;
    rows = std::clamp<std::int64_t>(kMostAddends / of_one, 1, kMostRows);
  }
}

Counted count_once(const PairedSamples& samples) {
  Counted counted(samples);
  for_each_window(samples, [&](std::int64_t, const auto& a, const auto& b) {
    a.count({}, counted.a);
    b.count({}, counted.b);
  });
  return counted;
}

// The weight depends on the global index, not on the run or the window, which is what pairs A and
// B. It is at most 20 and so fits into a byte.
void fill_weights(const PairedSamples& samples, std::int64_t first,
                  const metrics::PoissonWeights& of_replicate, std::span<std::uint8_t> weights) {
  for (std::uint8_t& weight : weights) {
    weight = static_cast<std::uint8_t>(of_replicate.of(samples.index_of(first++)));
  }
}

// Counts a group of replicates in one pass over the samples: the rows of a window are prepared once
// for all replicates of the group.
void count_replicates(const PairedSamples& samples, std::int64_t seed, std::int64_t first_replicate,
                      std::span<Counted> replicates) {
  std::vector<std::uint8_t> weights;
  for_each_window(samples, [&](std::int64_t first, const auto& a, const auto& b) {
    weights.resize(to_size(a.num_rows()));
    auto replicate = static_cast<std::uint64_t>(first_replicate);
    for (Counted& counted : replicates) {
      const metrics::PoissonWeights of_replicate(static_cast<std::uint64_t>(seed), replicate++);
      fill_weights(samples, first, of_replicate, weights);
      a.count(weights, counted.a);
      b.count(weights, counted.b);
    }
  });
}

std::optional<double> difference(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *b - *a;
}

// The metrics of both runs, and their differences without intervals.
std::vector<MetricDifference> differences_of(const PairedSamples& samples, const Counted& counted) {
  const metrics::MetricSet& metrics = samples.metrics();
  const metrics::Results a = metrics.finalize(counted.a);
  const metrics::Results b = metrics.finalize(counted.b);
  std::vector<MetricDifference> differences;
  for (std::size_t m = 0; m < a.metrics.size(); ++m) {
    const auto& of_a = a.metrics[m];
    const auto& of_b = b.metrics.at(m);
    differences.push_back({.name = of_a.name,
                           .a = of_a.value,
                           .b = of_b.value,
                           .difference = difference(of_a.value, of_b.value)});
  }
  return differences;
}

// The differences of each metric, [metric][replicate]. A replicate in which a metric is undefined
// adds nothing, which percentile_interval() notices by the number.
using OfReplicates = std::vector<std::vector<double>>;

void add_replicate(const std::vector<MetricDifference>& found, OfReplicates& of_replicates) {
  of_replicates.resize(found.size());
  for (std::size_t m = 0; m < found.size(); ++m) {
    if (found[m].difference) of_replicates[m].push_back(*found[m].difference);
  }
}

void add_intervals(const OfReplicates& of_replicates, std::int64_t replicates,
                   std::vector<MetricDifference>& metrics) {
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    if (!metrics[m].difference) continue;
    metrics[m].interval = metrics::percentile_interval(of_replicates[m], replicates);
  }
}

// The differences of the metrics that are made of counts.
std::vector<MetricDifference> counted_differences(const PairedSamples& samples,
                                                  std::int64_t replicates, std::int64_t seed) {
  auto metrics = differences_of(samples, count_once(samples));
  OfReplicates of_replicates(metrics.size());
  // Each replicate needs two States. As many replicates as fit into kMostBytes are counted in one
  // pass over the samples, so that many classes mean more passes and not more memory.
  const std::int64_t at_once = std::clamp<std::int64_t>(
      kMostBytes / (2 * samples.metrics().layout()->num_bytes()), 1, replicates);
  for (std::int64_t first = 0; first < replicates; first += at_once) {
    std::vector<Counted> counted(to_size(std::min(at_once, replicates - first)), Counted(samples));
    count_replicates(samples, seed, first, counted);
    for (const Counted& replicate : counted) {
      add_replicate(differences_of(samples, replicate), of_replicates);
    }
  }
  add_intervals(of_replicates, replicates, metrics);
  return metrics;
}

std::vector<MetricDifference> differences_of(const CurveMetrics& a, const CurveMetrics& b,
                                             metrics::RowWeights weights) {
  const auto of_a = a.values(weights);
  const auto of_b = b.values(weights);
  std::vector<MetricDifference> differences;
  for (std::size_t m = 0; m < of_a.size(); ++m) {
    differences.push_back({.name = a.names()[m],
                           .a = of_a[m],
                           .b = of_b[m],
                           .difference = difference(of_a[m], of_b[m])});
  }
  return differences;
}

// The differences of the metrics that are made of all scores in order. There is no window here: a
// replicate needs the weights of all samples at once, a byte each.
std::vector<MetricDifference> ordered_differences(const PairedSamples& samples,
                                                  std::int64_t replicates, std::int64_t seed) {
  const auto a = samples.ordered(Side::a);
  if (a == nullptr) return {};
  const auto b = samples.ordered(Side::b);
  auto metrics = differences_of(*a, *b, {});
  OfReplicates of_replicates(metrics.size());
  std::vector<std::uint8_t> weights(to_size(samples.size()));
  for (std::int64_t r = 0; r < replicates; ++r) {
    const metrics::PoissonWeights of_replicate(static_cast<std::uint64_t>(seed),
                                               static_cast<std::uint64_t>(r));
    fill_weights(samples, 0, of_replicate, weights);
    add_replicate(differences_of(*a, *b, weights), of_replicates);
  }
  add_intervals(of_replicates, replicates, metrics);
  return metrics;
}

}  // namespace

std::vector<MetricDifference> paired_differences(const PairedSamples& samples,
                                                 std::int64_t replicates, std::int64_t seed) {
  auto metrics = counted_differences(samples, replicates, seed);
  for (MetricDifference& ordered : ordered_differences(samples, replicates, seed)) {
    metrics.push_back(std::move(ordered));
  }
  for (MetricDifference& metric : metrics) {
    const auto known = metrics::description_of(samples.metrics().options().task, metric.name);
    metric.less_is_better = known && known->less_is_better;
  }
  return metrics;
}

}  // namespace tally::compare
