#include "replicate_counts.hpp"

#include <limits>

#include <tally/metrics/poisson_weight.hpp>

#include "score_windows.hpp"

namespace tally::exchange {
namespace {

constexpr int kNowhere = -1;  // the place of what does not count

// Places of a window's elements.
template <class Place>
void find_places(const ScoreWindow& window, const CurveSlots& slots, std::span<Place> places) {
  std::ranges::fill(places, Place{kNowhere});
  for_each_element(window, [&](std::size_t i, std::size_t c, float score, bool is_positive) {
    places[i] = static_cast<Place>(slots.slot_of(c, score, is_positive));
  });
}

// Adds rows, of which the first has global index `first_index`, to the counts of one replicate.
template <class Place>
void add_rows(const metrics::PoissonWeights& weights, std::int64_t first_index,
              std::size_t num_classes, std::span<const Place> places,
              std::span<std::int64_t> counts) {
  auto index = static_cast<std::uint64_t>(first_index);
  for (; !places.empty(); places = places.subspan(num_classes)) {
    const std::int64_t weight = weights.of(index++);
    if (weight == 0) continue;
    for (const Place place : places.first(num_classes)) {
      if (place != kNowhere) counts[static_cast<std::size_t>(place)] += weight;
    }
  }
}

}  // namespace

ReplicateCounts::ReplicateCounts(const ScoreRows& rows, const CurveBootstrap& options,
                                 const CurveSlots& slots)
    : rows_(rows), options_(options), slots_(slots) {
  const std::int64_t num_places = rows.num_rows * rows.num_classes;
  keeps_places_ = num_places <= options.max_place_bytes / std::int64_t{sizeof(std::int32_t)} &&
                  slots.num_slots() <= std::numeric_limits<std::int32_t>::max();
  if (!keeps_places_) return;
  places_.resize(to_size(num_places));
  for_each_window(rows, options.keys, [&](const ScoreWindow& window) {
    find_places(window, slots,
                std::span(places_).subspan(to_size(window.first) * window.num_classes,
                                           window.scores.size()));
  });
}

void ReplicateCounts::count(std::int64_t first_replicate, std::span<std::int64_t> counts) const {
  const auto num_slots = to_size(slots_.num_slots());
  std::ranges::fill(counts, 0);
  const auto add = [&](std::int64_t first_row, auto places) {
    auto replicate = static_cast<std::uint64_t>(first_replicate);
    for (auto rest = counts; !rest.empty(); rest = rest.subspan(num_slots)) {
      add_rows(metrics::PoissonWeights(options_.seed, replicate++), rows_.first_index + first_row,
               to_size(rows_.num_classes), places, rest.first(num_slots));
    }
  };
  if (keeps_places_) {
    add(0, std::span<const std::int32_t>(places_));
    return;
  }
  std::vector<std::int64_t> places;
  for_each_window(rows_, options_.keys, [&](const ScoreWindow& window) {
    places.resize(window.scores.size());
    find_places(window, slots_, std::span(places));
    add(window.first, std::span<const std::int64_t>(places));
  });
}

}  // namespace tally::exchange
