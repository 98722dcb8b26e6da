// SPDX-License-Identifier: Apache-2.0
// Bases of the tasks, which count with MetricSets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/tasks/task.hpp>

#include "column.hpp"

namespace tally::tasks {

// A task that counts with MetricSets. `Config` has them as `metrics` and, for counting kept rows,
// `resample_metrics`, and the columns as `columns` and `retained`.
template <class Config>
class CountingTask : public Task {
 public:
  explicit CountingTask(const TaskOptions& options) : config_(options) {}

  std::shared_ptr<const exact::StateLayout> layout() const override {
    return config_.metrics.layout();
  }
  std::vector<predictions::ColumnSpec> columns() const override {
    return specs_of(config_.columns);
  }
  metrics::Results finalize(const exact::State& state) const override {
    return config_.metrics.finalize(state);
  }
  const std::vector<std::string>& metrics() const override {
    return config_.metrics.options().names;
  }

  std::vector<predictions::ColumnSpec> retained_columns() const override {
    return specs_of(config_.retained);
  }
  std::shared_ptr<const exact::StateLayout> resample_layout() const override {
    return config_.resample_metrics.layout();
  }
  metrics::Results finalize_resampled(const exact::State& state) const override {
    return config_.resample_metrics.finalize(state);
  }

 protected:
  Config config_;
};

// The same of a task whose units are made of samples: `retained`, if anything, is one column that
// holds the units' rows. Interface: UnitCounting<Row>, or what is made of it.
template <class Config, class Row, class Interface = UnitCounting<Row>>
class UnitCountingTask : public CountingTask<Config>, public Interface {
 public:
  using CountingTask<Config>::CountingTask;

  Capabilities capabilities() const override {
    return {.units = static_cast<const Interface*>(this), .is_order_independent = true};
  }

  void count(std::span<const metrics::SampleRecord> samples, exact::State& state) const override {
    this->config_.metrics.update(samples, state);
  }
  void count(std::span<const Row> units, exact::State& state) const override {
    this->config_.metrics.update(units, state);
  }

  void retain(const Row& unit, predictions::RecordBatch& retained) const override {
    if (this->config_.retained.empty()) return;
    retained.columns.resize(1);
    const auto bytes = std::as_bytes(std::span(&unit, 1));
    retained.columns[0].insert(retained.columns[0].end(), bytes.begin(), bytes.end());
    ++retained.num_rows;
  }

  metrics::PrecomputedUpdates resample_rows(
      const predictions::RecordBatch& retained) const override {
    const auto* const rows = reinterpret_cast<const Row*>(retained.columns.at(0).data());
    return {this->config_.resample_metrics, std::span(rows, to_size(retained.num_rows))};
  }
};

}  // namespace tally::tasks
