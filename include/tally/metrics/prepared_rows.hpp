// Rows to be counted again, some of them or with other weights: subgroups, replicates of a
// bootstrap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/answer_row.hpp>
#include <tally/metrics/choice_row.hpp>
#include <tally/metrics/class_row.hpp>
#include <tally/metrics/document_row.hpp>
#include <tally/metrics/label_row.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/regression_row.hpp>

namespace tally::metrics {

// How often each row counts.
using RowWeights = std::span<const std::uint8_t>;

// What each row adds to a State, worked out once. Counting gives what MetricSet::update() gives, to
// the last bit, but for the evidence of indices, which of weighted rows means nothing and stays 0.
class PreparedRows {
 public:
  PreparedRows(const MetricSet& metrics, std::span<const ClassRow> rows);
  PreparedRows(const MetricSet& metrics, const LabelRows& rows);
  PreparedRows(const MetricSet& metrics, std::span<const RegressionRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const AnswerRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const DocumentRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const ChoiceRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const SampleRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const MaskRow> rows);
  PreparedRows(const MetricSet& metrics, std::span<const MapRow> rows);

  std::int64_t num_rows() const { return std::ssize(ends_); }
  std::int64_t num_addends() const { return std::ssize(addends_); }  // 16 bytes each
  // One weight per row, no weights: each counts once. `state` is of the layout of `metrics`; its
  // sums stay canonical.
  void count(RowWeights weights, exact::State& state) const;
  // Row i counts once in states[places[i]]; sums stay canonical.
  void count_apart(std::span<const std::int32_t> places, std::span<exact::State> states) const;

 private:
  // row(i): a row that the counters know.
  template <class Row>
  void prepare(const MetricSet& metrics, std::size_t num_rows, const Row& row);

  struct Addend {
    std::int64_t offset = 0;  // in the State
    std::int64_t value = 0;
  };
  std::vector<Addend> addends_;    // row after row
  std::vector<std::size_t> ends_;  // behind the last addend of each row
};

}  // namespace tally::metrics
