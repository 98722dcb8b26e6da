// SPDX-License-Identifier: Apache-2.0
// Samples with real-valued targets: regression.
#pragma once

#include <vector>

#include <tally/metrics/sample_records.hpp>

#include "paired_samples.hpp"

namespace tally::compare {

// Values of samples, [samples, outputs] each.
struct PairedValues {
  std::vector<std::int64_t> indices;  // [samples] global ones
  std::vector<float> targets;         // finite
  std::vector<float> a, b;            // predictions
};

class RegressionPair : public PairedSamples {
 public:
  RegressionPair(metrics::MetricOptions options, PairedValues values);

  std::int64_t size() const override { return std::ssize(values_.indices); }
  std::uint64_t index_of(std::int64_t sample) const override;
  const metrics::MetricSet& metrics() const override { return metrics_; }
  metrics::PrecomputedUpdates prepare(Side side, std::int64_t first,
                                      std::int64_t count) const override;
  std::unique_ptr<CurveMetrics> ordered(Side side) const override;
  std::int64_t num_ignored() const override { return 0; }
  bool is_finite(Side side, std::int64_t sample) const override { return row(side, sample).finite; }
  std::optional<Outcomes> outcomes() const override { return std::nullopt; }
  Changes changes(std::int64_t most) const override;

 private:
  metrics::RegressionRecord row(Side side, std::int64_t sample) const;
  ValuePrediction prediction(Side side, std::int64_t sample) const;

  metrics::MetricSet metrics_;
  PairedValues values_;
};

// The reader of the task regression.
ReadPair read_value_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names);

}  // namespace tally::compare
