#include <tally/metrics/prepared_rows.hpp>

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

PreparedRows::PreparedRows(const MetricSet& metrics, std::span<const ClassRow> rows) {
  const RowCounters& counters = metrics.counters();
  ends_.reserve(rows.size());
  for (const ClassRow& row : rows) {
    counters.count(row, [&](std::int64_t offset, std::int64_t value) {
      if (!is_evidence(counters.coverage, offset)) addends_.push_back({offset, value});
    });
    ends_.push_back(addends_.size());
  }
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

}  // namespace tally::metrics
