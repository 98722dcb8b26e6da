// SPDX-License-Identifier: Apache-2.0
// Scores and targets of labels that are judged one by one, and the shortest way from them to
// results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/multilabel_pass.hpp>

namespace tally::metrics {

// Of the task binary (labels) or multilabel (targets).
struct LabelSamples {
  std::int64_t num_labels = 1;
  std::vector<float> scores;          // [samples, labels]; of one label also [samples, 2]
  std::vector<std::int64_t> labels;   // [samples] or empty
  std::vector<std::uint8_t> targets;  // [samples, labels] or empty

  std::int64_t size() const { return std::ssize(labels) + std::ssize(targets) / num_labels; }
  std::int64_t num_scores() const { return std::ssize(scores) / std::max<std::int64_t>(1, size()); }

  TensorView score_view(std::int64_t first, std::int64_t count) {
    return contiguous_view(scores.data() + first * num_scores(), DType::f32, {count, num_scores()});
  }
  TensorView target_view(std::int64_t first, std::int64_t count) {
    if (targets.empty()) return contiguous_view(labels.data() + first, DType::i64, {count});
    return contiguous_view(targets.data() + first * num_labels, DType::u8, {count, num_labels});
  }
};

// Scores on a coarse grid, so that ties are common.
inline std::vector<float> coarse_scores(std::int64_t count, std::mt19937& random) {
  std::uniform_int_distribution<int> score(-8, 8);
  std::vector<float> scores(to_size(count));
  for (float& value : scores) value = 0.37f * static_cast<float>(score(random));
  return scores;
}

inline LabelSamples random_binary(std::int64_t size, std::int64_t ignored, unsigned seed) {
  std::mt19937 random(seed);
  LabelSamples samples{1, coarse_scores(size, random), {}, {}};
  for (std::int64_t i = 0; i < size; ++i) {
    samples.labels.push_back(random() % 6 == 0 ? ignored : static_cast<std::int64_t>(random() % 2));
  }
  return samples;
}

inline LabelSamples random_multilabel(std::int64_t size, std::int64_t num_labels,
                                      std::uint8_t ignored, unsigned seed) {
  std::mt19937 random(seed);
  LabelSamples samples{num_labels, coarse_scores(size * num_labels, random), {}, {}};
  for (std::int64_t i = 0; i < size * num_labels; ++i) {
    samples.targets.push_back(random() % 6 == 0 ? ignored
                                                : static_cast<std::uint8_t>(random() % 3 == 0));
  }
  return samples;
}

// Adds samples [first, first + count).
inline void add_samples(const MetricSet& metrics, LabelSamples& samples, std::int64_t first,
                        std::int64_t count, exact::State& state,
                        OutputKind kind = OutputKind::logits) {
  LabelStatistics stats;
  compute_multilabel_statistics(samples.score_view(first, count), samples.target_view(first, count),
                                first, count, label_rules(metrics.options(), kind), stats);
  metrics.update(stats.view(), state);
}

inline Results score(const MetricOptions& options, LabelSamples samples,
                     OutputKind kind = OutputKind::logits) {
  const MetricSet metrics(options);
  exact::State state(metrics.layout());
  add_samples(metrics, samples, 0, samples.size(), state, kind);
  return metrics.finalize(state);
}

}  // namespace tally::metrics
