// SPDX-License-Identifier: Apache-2.0
// Defines how MetricSet and PrecomputedUpdates count records of one kind, for the bodies that
// instantiate their templates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/precomputed_updates.hpp>

#include "family_counters.hpp"

namespace tally::metrics {

// row(i): a row that the counters know.
template <class Row>
void count_rows(const RowCounters& counters, std::size_t num_rows, const Row& row,
                exact::State& state) {
  const auto values = state.values();
  for (std::size_t i = 0; i < num_rows; ++i) {
    counters.count(row(i), [values](std::int64_t offset, std::int64_t value) {
      values[static_cast<std::size_t>(offset)] += value;
    });
  }
  state.canonicalise();
}

template <class Record>
void MetricSet::add(std::span<const Record> records, exact::State& state) const {
  count_rows(
      *counters_, records.size(), [&](std::size_t i) -> const Record& { return records[i]; },
      state);
}

template <class Row>
void PrecomputedUpdates::prepare_each(const MetricSet& metrics, std::size_t num_rows,
                                      const Row& row) {
  const RowCounters& counters = metrics.counters();
  ends_.reserve(num_rows);
  for (std::size_t i = 0; i < num_rows; ++i) {
    counters.count(row(i), [&](std::int64_t offset, std::int64_t value) {
      if (!counters.coverage.is_evidence(offset)) addends_.push_back({offset, value});
    });
    ends_.push_back(addends_.size());
  }
}

template <class Record>
void PrecomputedUpdates::prepare(const MetricSet& metrics, std::span<const Record> records) {
  prepare_each(metrics, records.size(), [&](std::size_t i) -> const Record& { return records[i]; });
}

}  // namespace tally::metrics
