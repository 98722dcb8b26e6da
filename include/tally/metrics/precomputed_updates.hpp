// SPDX-License-Identifier: Apache-2.0
// Works out once what each row adds to a State, so that rows can be recounted fast, some of them or
// with other weights: for subgroups and replicates of a bootstrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/sample_records.hpp>

namespace tally::metrics {

// How often each row counts.
using RowWeights = std::span<const std::uint8_t>;

// What each row adds to a State, worked out once. Counting gives what MetricSet::update() gives, to
// the last bit, but for the evidence of indices, which of weighted rows means nothing and stays 0.
class PrecomputedUpdates {
 public:
  // Of records that MetricSet::update() takes, but those of detections, which are never weighted.
  template <std::ranges::contiguous_range Records>
  PrecomputedUpdates(const MetricSet& metrics, const Records& records) {
    prepare(metrics, std::span<const std::ranges::range_value_t<Records>>(records));
  }
  PrecomputedUpdates(const MetricSet& metrics, const MultilabelRecords& rows);

  std::int64_t num_rows() const { return std::ssize(ends_); }
  std::int64_t num_addends() const { return std::ssize(addends_); }  // 16 bytes each
  // One weight per row, no weights: each counts once. `state` is of the layout of `metrics`; its
  // sums stay canonical.
  void count(RowWeights weights, exact::State& state) const;
  // Row i counts once in states[places[i]]; sums stay canonical.
  void count_apart(std::span<const std::int32_t> places, std::span<exact::State> states) const;

 private:
  // Instantiated as MetricSet::add() is, or in precomputed_updates.cpp.
  template <class Record>
  void prepare(const MetricSet& metrics, std::span<const Record> records);
  // row(i): a row that the counters know.
  template <class Row>
  void prepare_each(const MetricSet& metrics, std::size_t num_rows, const Row& row);

  struct Addend {
    std::int64_t offset = 0;  // in the State
    std::int64_t value = 0;
  };
  std::vector<Addend> addends_;    // row after row
  std::vector<std::size_t> ends_;  // behind the last addend of each row
};

}  // namespace tally::metrics
