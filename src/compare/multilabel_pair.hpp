// SPDX-License-Identifier: Apache-2.0
// Samples whose labels are judged one by one: binary and multilabel.
#pragma once

#include <vector>

#include <tally/base/task_traits.hpp>
#include <tally/metrics/multilabel_pass.hpp>

#include "paired_samples.hpp"

namespace tally::compare {

class MultilabelPair : public PairedSamples {
 public:
  // Statistics of the same samples, in the same order.
  MultilabelPair(metrics::MetricOptions options, metrics::LabelStatistics a,
                 metrics::LabelStatistics b,
                 ordered_metrics::ScoreKeys keys = ordered_metrics::ScoreKeys::float32);

  std::int64_t size() const override { return std::ssize(a_.rows); }
  std::uint64_t index_of(std::int64_t sample) const override;
  const metrics::MetricSet& metrics() const override { return metrics_; }
  metrics::PrecomputedUpdates prepare(Side side, std::int64_t first,
                                      std::int64_t count) const override;
  std::unique_ptr<CurveMetrics> ordered(Side side) const override;
  std::int64_t num_ignored() const override;
  bool is_finite(Side side, std::int64_t sample) const override {
    return (side == Side::a ? a_ : b_).rows[static_cast<std::size_t>(sample)].finite;
  }
  std::optional<Outcomes> outcomes() const override;
  Changes changes(std::int64_t most) const override;

 private:
  bool is_binary() const { return is_task(metrics_.options().task, TaskKind::binary); }
  bool is_changed(std::size_t sample) const;
  // change_of(sample): what is listed of it.
  template <class Made, class Change>
  Made list_changes(std::int64_t most, const Change& change_of) const;

  metrics::MetricSet metrics_;
  metrics::LabelStatistics a_, b_;
  ordered_metrics::ScoreKeys keys_;
};

// The reader of the tasks binary and multilabel.
ReadPair read_label_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names);

}  // namespace tally::compare
