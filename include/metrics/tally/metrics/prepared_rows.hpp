// Rows to be counted many times, each time with other weights: replicates of a bootstrap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/class_row.hpp>
#include <tally/metrics/metric_set.hpp>

namespace tally::metrics {

// What each row adds to a State, worked out once. Counting gives what MetricSet::update() gives, to
// the last bit, but for the evidence of indices, which of weighted rows means nothing and stays 0.
class PreparedRows {
 public:
  PreparedRows(const MetricSet& metrics, std::span<const ClassRow> rows);

  std::int64_t num_rows() const { return std::ssize(ends_); }
  // One weight per row, no weights: each counts once. `state` is of the layout of `metrics`; its
  // sums stay canonical.
  void count(RowWeights weights, exact::State& state) const;

 private:
  struct Addend {
    std::int64_t offset = 0;  // in the State
    std::int64_t value = 0;
  };
  std::vector<Addend> addends_;    // row after row
  std::vector<std::size_t> ends_;  // behind the last addend of each row
};

}  // namespace tally::metrics
