// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/global_ranks.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>

namespace tally::ordered_metrics {
namespace {

// With it the sum of count^3, the largest of SpearmanSums, stays below 2^123.
constexpr std::int64_t kMostElements = std::int64_t{1} << 41;

}  // namespace

WeightsBelow::WeightsBelow(std::span<const float> distinct)
    : distinct_(distinct), before_(distinct.size() + 1), at_(distinct.size()) {}

// Both lists ascend, so that one pass over them merges them. Each call begins at the first distinct
// value again, because the values of another rank begin anew.
void WeightsBelow::add(std::span<const std::byte> values) {
  std::size_t next = 0;
  WeightedValue peer{};
  for (; !values.empty(); values = values.subspan(sizeof peer)) {
    std::memcpy(&peer, values.data(), sizeof peer);
    while (next < distinct_.size() && distinct_[next] < peer.value) ++next;
    if (next < distinct_.size() && distinct_[next] == peer.value) {
      at_[next] += peer.weight;
    } else {
      before_[next] += peer.weight;
    }
  }
}

std::vector<std::int64_t> WeightsBelow::centred() const {
  std::int64_t total = before_.back();
  for (std::size_t i = 0; i < at_.size(); ++i) total += before_[i] + at_[i];
  if (total > kMostElements) {
    throw Error(ErrorKind::internal, "ranks of more than 2^41 elements");
  }
  std::vector<std::int64_t> ranks;
  std::int64_t below = 0;
  for (std::size_t i = 0; i < at_.size(); ++i) {
    // The number of elements below minus that above is twice the centred mean rank of the tied
    // ones: a whole number, also where ties share a rank ending in 1/2.
    below += before_[i];
    ranks.push_back(below - (total - below - at_[i]));
    below += at_[i];
  }
  return ranks;
}

RankedColumn::RankedColumn(std::span<const float> values) : place_(values.size()) {
  std::vector<std::pair<float, std::int32_t>> sorted;
  sorted.reserve(values.size());
  for (const float value : values) {
    sorted.emplace_back(value, checked_cast<std::int32_t>(sorted.size()));
  }
  std::ranges::sort(sorted);
  for (const auto& [value, index] : sorted) {
    if (distinct_.empty() || distinct_.back() != value) distinct_.push_back(value);
    place_[to_size(index)] = checked_cast<std::int32_t>(distinct_.size() - 1);
  }
}

std::vector<WeightedValue> RankedColumn::weighted_values(const Weights& weights) const {
  Weights totals(distinct_.size());
  for (std::size_t i = 0; i < place_.size(); ++i) totals[to_size(place_[i])] += weights[i];
  std::vector<WeightedValue> values;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] > 0) values.push_back({distinct_[i], checked_cast<std::uint32_t>(totals[i])});
  }
  return values;
}

std::vector<std::int64_t> RankedColumn::centred_ranks(const Weights& weights) const {
  const auto values = weighted_values(weights);
  WeightsBelow below(distinct_);
  below.add(std::as_bytes(std::span(values)));
  return spread(below.centred());
}

std::vector<std::int64_t> RankedColumn::spread(const std::vector<std::int64_t>& of_distinct) const {
  std::vector<std::int64_t> spread;
  spread.reserve(place_.size());
  for (const std::int32_t place : place_) spread.push_back(of_distinct[to_size(place)]);
  return spread;
}

}  // namespace tally::ordered_metrics
