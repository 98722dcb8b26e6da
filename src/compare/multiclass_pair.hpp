// SPDX-License-Identifier: Apache-2.0
// Samples with one class label each.
#pragma once

#include <vector>

#include <tally/metrics/sample_records.hpp>

#include "multiclass_run.hpp"
#include "paired_samples.hpp"

namespace tally::compare {

// Where curves are compared: the scores they are made of.
struct ClassScores {
  ReadProbabilities a, b;
  ordered_metrics::ScoreKeys keys = ordered_metrics::ScoreKeys::float32;
};

class MulticlassPair : public PairedSamples {
 public:
  // Rows of the same samples, in the same order. `scores` are looked at where a metric needs them.
  MulticlassPair(metrics::MetricOptions options, std::vector<metrics::MulticlassRecord> a,
                 std::vector<metrics::MulticlassRecord> b, ClassScores scores = {});

  std::int64_t size() const override { return std::ssize(a_); }
  std::uint64_t index_of(std::int64_t sample) const override;
  const metrics::MetricSet& metrics() const override { return metrics_; }
  metrics::PrecomputedUpdates prepare(Side side, std::int64_t first,
                                      std::int64_t count) const override;
  std::unique_ptr<CurveMetrics> ordered(Side side) const override;
  std::int64_t num_ignored() const override;
  bool is_finite(Side side, std::int64_t sample) const override {
    return (side == Side::a ? a_ : b_)[static_cast<std::size_t>(sample)].finite;
  }
  std::optional<Outcomes> outcomes() const override;
  Changes changes(std::int64_t most) const override;

 private:
  metrics::MetricSet metrics_;
  std::vector<metrics::MulticlassRecord> a_, b_;
  ClassScores scores_;
};

// The reader of the task multiclass.
ReadPair read_class_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names);

}  // namespace tally::compare
