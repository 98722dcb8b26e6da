// SPDX-License-Identifier: Apache-2.0
#include <tally/metrics/precomputed_updates.hpp>

#include <algorithm>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "count_records.hpp"

namespace tally::metrics {

template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const MulticlassRecord>);
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const RegressionRecord>);
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const SampleRecord>);
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const SegmentationRecord>);
template void PrecomputedUpdates::prepare(const MetricSet&, std::span<const DenseRegressionRecord>);

PrecomputedUpdates::PrecomputedUpdates(const MetricSet& metrics, const MultilabelRecords& rows) {
  prepare_each(metrics, rows.rows.size(), [&](std::size_t i) { return rows.sample(i); });
}

void PrecomputedUpdates::count(RowWeights weights, exact::State& state) const {
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

void PrecomputedUpdates::count_apart(std::span<const std::int32_t> places,
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
