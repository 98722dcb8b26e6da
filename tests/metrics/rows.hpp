// SPDX-License-Identifier: Apache-2.0
// Scores and labels for tests, and the shortest way from them to results.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/multiclass_pass.hpp>
#include <tally/metrics/multiclass_statistics.hpp>

namespace tally::metrics {

struct Samples {
  std::int64_t num_classes = 0;
  std::vector<float> scores;  // [samples, classes]
  std::vector<std::int64_t> labels;

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

// Scores on a coarse grid, so that ties are common.
inline Samples random_samples(std::int64_t size, std::int64_t num_classes, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> score(-8, 8);
  std::uniform_int_distribution<std::int64_t> label(0, num_classes - 1);
  Samples samples{num_classes, std::vector<float>(to_size(size * num_classes)), {}};
  for (float& value : samples.scores) value = 0.37f * static_cast<float>(score(random));
  for (std::int64_t i = 0; i < size; ++i) samples.labels.push_back(label(random));
  return samples;
}

// As a run with these metrics has them, but for the ignored label.
inline ScoreRules rules_with(std::optional<std::int64_t> ignore_index, const MetricSet& metrics) {
  ScoreRules rules = score_rules(metrics.options(), OutputKind::logits);
  rules.has_ignore_index = ignore_index.has_value();
  rules.ignore_index = ignore_index.value_or(0);
  return rules;
}

// Adds samples [first, first + count).
inline void add_samples(const MetricSet& metrics, Samples& samples, std::int64_t first,
                        std::int64_t count, std::optional<std::int64_t> ignore_index,
                        exact::State& state) {
  const auto labels =
      std::span<const std::int64_t>(samples.labels).subspan(to_size(first), to_size(count));
  const TensorView scores = contiguous_view(samples.scores.data() + first * samples.num_classes,
                                            DType::f32, {count, samples.num_classes});
  RowStatistics stats;
  compute_multiclass_statistics(scores, first, labels, rules_with(ignore_index, metrics), stats);
  metrics.update(stats.rows, state);
}

}  // namespace tally::metrics
