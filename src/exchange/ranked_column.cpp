#include "ranked_column.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/comm/share_in_turn.hpp>

namespace tally::exchange {
namespace {

constexpr std::int64_t kShareBytes = std::int64_t{64} << 20;  // at a time, from all ranks together

// With it the sum of count^3, the largest of RankSums, stays below 2^123.
constexpr std::int64_t kMostElements = std::int64_t{1} << 41;

// What ranks tell each other, ascending by value.
struct WeightedValue {
  float value;
  std::uint32_t weight;
};
static_assert(sizeof(WeightedValue) == 8);

// Adds up the weights below and at this rank's distinct values.
class Below {
 public:
  explicit Below(std::span<const float> distinct)
      : distinct_(distinct), before_(distinct.size() + 1), at_(distinct.size()) {}

  // Values of one rank, or some of them, ascending.
  void add(std::span<const std::byte> rows) {
    std::size_t next = 0;
    WeightedValue peer{};
    for (; !rows.empty(); rows = rows.subspan(sizeof peer)) {
      std::memcpy(&peer, rows.data(), sizeof peer);
      while (next < distinct_.size() && distinct_[next] < peer.value) ++next;
      if (next < distinct_.size() && distinct_[next] == peer.value) {
        at_[next] += peer.weight;
      } else {
        before_[next] += peer.weight;
      }
    }
  }

  // Weight below minus weight above, of each distinct value.
  std::vector<std::int64_t> centred() const {
    std::int64_t total = before_.back();
    for (std::size_t i = 0; i < at_.size(); ++i) total += before_[i] + at_[i];
    if (total > kMostElements) {
      throw Error(ErrorKind::internal, "ranks of more than 2^41 elements");
    }
    std::vector<std::int64_t> ranks;
    std::int64_t below = 0;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      below += before_[i];
      ranks.push_back(below - (total - below - at_[i]));
      below += at_[i];
    }
    return ranks;
  }

 private:
  std::span<const float> distinct_;
  std::vector<std::int64_t> before_;  // entry i: between distinct values i - 1 and i
  std::vector<std::int64_t> at_;
};

}  // namespace

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

std::vector<std::byte> RankedColumn::weighted_values(const Weights& weights) const {
  Weights totals(distinct_.size());
  for (std::size_t i = 0; i < place_.size(); ++i) totals[to_size(place_[i])] += weights[i];
  std::vector<WeightedValue> rows;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] > 0) rows.push_back({distinct_[i], checked_cast<std::uint32_t>(totals[i])});
  }
  const auto bytes = std::as_bytes(std::span(rows));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::int64_t> RankedColumn::centred_ranks(const comm::Communicator& comm,
                                                      const Weights& weights) const {
  std::vector<std::byte> mine;
  std::optional<Below> below;
  comm::agree_on(comm, [&] {
    mine = weighted_values(weights);
    below.emplace(distinct_);
  });
  comm::share_in_turn(comm, mine, sizeof(WeightedValue), kShareBytes,
                      [&](std::int64_t, std::span<const std::byte> rows) { below->add(rows); });
  std::vector<std::int64_t> ranks;
  comm::agree_on(comm, [&] { ranks = spread(below->centred()); });
  return ranks;
}

std::vector<std::int64_t> RankedColumn::centred_ranks(const Weights& weights) const {
  Below below(distinct_);
  below.add(weighted_values(weights));
  return spread(below.centred());
}

std::vector<std::int64_t> RankedColumn::spread(const std::vector<std::int64_t>& of_distinct) const {
  std::vector<std::int64_t> spread;
  spread.reserve(place_.size());
  for (const std::int32_t place : place_) spread.push_back(of_distinct[to_size(place)]);
  return spread;
}

}  // namespace tally::exchange
