#include <tally/metrics/prepared_rows.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

bool is_evidence(const CoverageCounters& coverage, std::int64_t offset) {
  const auto within = [offset](std::int64_t first) {
    return offset >= first && offset < first + CoverageCounters::kNumPieces;
  };
  return within(coverage.index_mix) || within(coverage.index_sum);
}

}  // namespace

template <class Row>
void PreparedRows::prepare(const MetricSet& metrics, std::size_t num_rows, const Row& row) {
  const RowCounters& counters = metrics.counters();
  ends_.reserve(num_rows);
  for (std::size_t i = 0; i < num_rows; ++i) {
    counters.count(row(i), [&](std::int64_t offset, std::int64_t value) {
      if (!is_evidence(counters.coverage, offset)) addends_.push_back({offset, value});
    });
    ends_.push_back(addends_.size());
  }
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const ClassRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const ClassRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, const LabelRows& rows) {
  prepare(metrics, rows.rows.size(), [&](std::size_t i) { return rows.sample(i); });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const RegressionRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const RegressionRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const AnswerRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const AnswerRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const DocumentRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const DocumentRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const ChoiceRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const ChoiceRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const SampleRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const SampleRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const MaskRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const MaskRow& { return rows[i]; });
}

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const MapRow> rows) {
  prepare(metrics, rows.size(), [&](std::size_t i) -> const MapRow& { return rows[i]; });
}

void PreparedRows::count(RowWeights weights, exact::State& state) const {
  if (!weights.empty() && weights.size() != ends_.size()) {
    throw Error(ErrorKind::internal,
                format("{} weights for {} prepared rows", weights.size(), ends_.size()));
  }
  std::int64_t* const values = state.values().data();
  const Addend* addend = addends_.data();
  for (std::size_t row = 0; row < ends_.size(); ++row) {
    const Addend* const end = addends_.data() + ends_[row];
    const std::int64_t weight = weights.empty() ? 1 : weights[row];
    if (weight != 0) {
      for (const Addend* each = addend; each != end; ++each) {
        values[each->offset] += weight * each->value;
      }
    }
    addend = end;
  }
  state.canonicalise();
}

void PreparedRows::count_apart(std::span<const std::int32_t> places,
                               std::span<exact::State> states) const {
  if (places.size() != ends_.size()) {
    throw Error(ErrorKind::internal,
                format("{} places for {} prepared rows", places.size(), ends_.size()));
  }
  std::vector<std::int32_t> touched(places.begin(), places.end());
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  if (!touched.empty() && (touched.front() < 0 || touched.back() >= std::ssize(states))) {
    throw Error(ErrorKind::internal, format("places {} to {} in {} states", touched.front(),
                                            touched.back(), states.size()));
  }
  std::size_t at = 0;
  for (std::size_t row = 0; row < ends_.size(); ++row) {
    std::int64_t* const values = states[to_size(places[row])].values().data();
    for (; at < ends_[row]; ++at) values[addends_[at].offset] += addends_[at].value;
  }
  for (const std::int32_t place : touched) states[to_size(place)].canonicalise();
}

}  // namespace tally::metrics
