// SPDX-License-Identifier: Apache-2.0
// Holds the metrics of a run, ready for a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/metrics/intervals.hpp>

namespace tally::metrics {

// Of an operating point.
struct Threshold {
  // A sample with at least this score (a probability) counts as positive then; none where no score
  // meets the condition.
  std::optional<float> score;
  // Of questions: no answer where the score for none exceeds that of the best span by more.
  std::optional<double> margin = std::nullopt;
};

struct MetricValue {
  std::string name;             // "precision_macro"
  std::optional<double> value;  // a fraction, not a percentage; none where it is undefined
  // Where the value is a share of independent samples: of how many, and how many of them.
  std::optional<Proportion> proportion = std::nullopt;
  std::optional<Interval> interval = std::nullopt;
  std::optional<Threshold> threshold = std::nullopt;  // only what is read at one
};

struct ClassMetrics {
  std::int64_t index = 0;
  std::int64_t support = 0;    // samples of this class
  std::int64_t predicted = 0;  // samples predicted as this class
  std::int64_t correct = 0;
  // What is made of them, under names such as "precision", in the order of the report.
  std::vector<MetricValue> values;

  // none also where there is no such metric.
  std::optional<double> value(std::string_view name) const;
};

// Of a type of entities, such as "PER", in a token classification.
struct EntityTypeMetrics {
  std::string type;
  std::int64_t support = 0;    // entities that the labels say
  std::int64_t predicted = 0;  // entities that the predictions say
  std::int64_t correct = 0;    // of both, at the same places
  std::optional<double> precision, recall, f1;
};

// What a metric would be if all ties were decided for, and against, the true class.
struct TieBounds {
  std::string metric;  // "accuracy_top5"
  std::optional<double> optimistic, pessimistic;
};

// Samples whose confidence lies in [low, high); the last bin of the textbook rule has 1 in it.
struct ReliabilityBin {
  double low = 0, high = 0;
  std::int64_t count = 0;
  std::int64_t correct = 0;
  std::optional<double> confidence;  // mean
};

// The confusion matrix as shares: of a row, of a column, of all. 0 for 0/0.
struct ConfusionShares {
  std::string name;            // "confusion_by_true"
  std::vector<double> values;  // [classes, classes]
};

// Which indices came: sums modulo 2^64.
struct IndexEvidence {
  std::int64_t count = 0;
  std::uint64_t index_sum = 0;
  std::uint64_t index_mix = 0;
};

// How many units, which are samples for most tasks, were and were not scored.
struct UnitCounts {
  std::int64_t scored = 0;
  std::int64_t ignored = 0;
  // Scored samples whose true class shares its value with another class; none without scores.
  std::optional<std::int64_t> tied;
  std::int64_t not_finite = 0;      // samples whose scores hold NaN or Inf, ignored ones too
  std::int64_t without_scores = 0;  // those of them that are scored: counted as wrong
  // Where a sample has several labels, judged one by one: those that are scored, and those of them
  // that have finite scores.
  std::int64_t labels_scored = 0;
  std::int64_t labels_with_scores = 0;

  // Samples that are scored and have scores: what losses are means of.
  std::int64_t finite() const { return scored - without_scores; }
};

struct Results {
  // Coverage as the metric pass saw it: ignored units are counted too.
  IndexEvidence units;
  std::optional<IndexEvidence> seen_samples;  // where several samples make a unit
  UnitCounts counts;
  std::vector<MetricValue> metrics;
  std::vector<ClassMetrics> per_class;
  std::vector<EntityTypeMetrics> entity_types;  // in order of name; empty if not kept
  std::vector<TieBounds> tie_bounds;
  std::vector<ReliabilityBin> reliability;  // empty if not kept
  // [classes, classes], row = true class; of several labels [labels, 2, 2], row = truth; empty if
  // not kept.
  std::vector<std::int64_t> confusion;
  std::vector<ConfusionShares> confusion_shares;  // those asked for
  std::int64_t num_classes = 0;

  // The evidence of samples.
  const IndexEvidence& samples() const { return seen_samples ? *seen_samples : units; }
  // Null if there is no such metric.
  const MetricValue* find(std::string_view name) const;
};

}  // namespace tally::metrics
