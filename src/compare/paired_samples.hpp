// SPDX-License-Identifier: Apache-2.0
// The samples of two runs as a task has them, ready to be counted. One implementation per kind of
// sample; read_pair() knows which task has which.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/compare/comparison.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/precomputed_updates.hpp>

#include "resampled_curve_metrics.hpp"
#include "saved_run.hpp"

namespace tally::compare {

class PairedSamples {
 public:
  virtual ~PairedSamples() = default;

  virtual std::int64_t size() const = 0;
  // Global index of a sample.
  virtual std::uint64_t index_of(std::int64_t sample) const = 0;
  // Those that are compared.
  virtual const metrics::MetricSet& metrics() const = 0;
  // Of one run, samples [first, first + count).
  virtual metrics::PrecomputedUpdates prepare(Side side, std::int64_t first,
                                              std::int64_t count) const = 0;
  // The metrics of one run that are made of all scores in order; null where none is compared.
  virtual std::unique_ptr<CurveMetrics> ordered(Side side) const = 0;
  // Samples whose label is not scored.
  virtual std::int64_t num_ignored() const = 0;
  // Whether a run has finite outputs for a sample.
  virtual bool is_finite(Side side, std::int64_t sample) const = 0;
  // As Comparison::outcomes.
  virtual std::optional<Outcomes> outcomes() const = 0;
  // At most `most` of them are listed.
  virtual Changes changes(std::int64_t most) const = 0;
};

// What a reader makes of two runs of the same samples.
struct ReadPair {
  std::unique_ptr<PairedSamples> samples;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

// `names` as in MetricOptions. See compare_runs() for what it throws.
ReadPair read_pair(const SavedRun& a, const SavedRun& b, const std::vector<std::string>& names);

}  // namespace tally::compare
