#include "replicate_counts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "score_windows.hpp"

namespace tally::exchange {
namespace {

constexpr std::int64_t kPlaceBytes = sizeof(std::int32_t);

// Adds rows, of which the first has global index `first_index`, to the counts of one replicate.
void add_rows(const metrics::PoissonWeights& weights, std::int64_t first_index,
              std::size_t num_classes, std::span<const std::int64_t> slots,
              std::span<std::int64_t> counts) {
  auto index = static_cast<std::uint64_t>(first_index);
  for (; !slots.empty(); slots = slots.subspan(num_classes)) {
    const std::int64_t weight = weights.of(index++);
    if (weight == 0) continue;
    for (const std::int64_t slot : slots.first(num_classes)) {
      if (slot != CurveSlots::kNowhere) counts[static_cast<std::size_t>(slot)] += weight;
    }
  }
}

}  // namespace

ReplicateCounts::ReplicateCounts(const ScoreRows& rows, const CurveBootstrap& options,
                                 const CurveSlots& slots)
    : rows_(rows), options_(options), slots_(slots) {
  const std::int64_t num_places = rows.num_rows * rows.num_classes;
  keeps_places_ = num_places + slots.num_slots() <= options.max_place_bytes / kPlaceBytes &&
                  num_places + slots.num_slots() < std::numeric_limits<std::int32_t>::max();
  if (keeps_places_) keep_places();
}

// A counting sort of the rows by slot.
void ReplicateCounts::keep_places() {
  std::vector<std::int32_t> slot_of_element;
  slot_of_element.reserve(to_size(rows_.num_rows * rows_.num_classes));
  first_in_slot_.assign(to_size(slots_.num_slots()) + 1, 0);
  std::vector<std::int64_t> found;
  for_each_window(rows_, options_.keys, [&](const ScoreWindow& window) {
    found.resize(window.scores.size());
    slots_.find(window, found);
    for (const std::int64_t slot : found) {
      slot_of_element.push_back(static_cast<std::int32_t>(slot));
      if (slot != CurveSlots::kNowhere) ++first_in_slot_[static_cast<std::size_t>(slot) + 1];
    }
  });
  std::partial_sum(first_in_slot_.begin(), first_in_slot_.end(), first_in_slot_.begin());
  rows_by_slot_.resize(static_cast<std::size_t>(first_in_slot_.back()));
  std::vector<std::int32_t> next(first_in_slot_.begin(), first_in_slot_.end() - 1);
  for (std::size_t i = 0; i < slot_of_element.size(); ++i) {
    if (slot_of_element[i] == CurveSlots::kNowhere) continue;
    const auto place = next[static_cast<std::size_t>(slot_of_element[i])]++;
    rows_by_slot_[static_cast<std::size_t>(place)] =
        static_cast<std::int32_t>(i / to_size(rows_.num_classes));
  }
}

void ReplicateCounts::count(std::int64_t first_replicate, std::span<std::int64_t> counts) const {
  if (!keeps_places_) {
    count_read(first_replicate, counts);
    return;
  }
  const auto num_slots = to_size(slots_.num_slots());
  for (; !counts.empty(); counts = counts.subspan(num_slots)) {
    count_kept(first_replicate++, counts.first(num_slots));
  }
}

void ReplicateCounts::count_kept(std::int64_t replicate, std::span<std::int64_t> counts) const {
  const auto weights = weights_of(replicate);
  std::vector<std::uint8_t> weight_of_row(to_size(rows_.num_rows));
  auto index = static_cast<std::uint64_t>(rows_.first_index);
  for (auto& weight : weight_of_row) weight = static_cast<std::uint8_t>(weights.of(index++));
  const std::int32_t* row = rows_by_slot_.data();
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    const std::int32_t* const end = rows_by_slot_.data() + first_in_slot_[slot + 1];
    std::int64_t sum = 0;
    for (; row != end; ++row) sum += weight_of_row[static_cast<std::size_t>(*row)];
    counts[slot] = sum;
  }
}

void ReplicateCounts::count_read(std::int64_t first_replicate,
                                 std::span<std::int64_t> counts) const {
  const auto num_slots = to_size(slots_.num_slots());
  std::ranges::fill(counts, 0);
  std::vector<std::int64_t> found;
  for_each_window(rows_, options_.keys, [&](const ScoreWindow& window) {
    found.resize(window.scores.size());
    slots_.find(window, found);
    std::int64_t replicate = first_replicate;
    for (auto rest = counts; !rest.empty(); rest = rest.subspan(num_slots)) {
      add_rows(weights_of(replicate++), rows_.first_index + window.first, window.num_classes, found,
               rest.first(num_slots));
    }
  });
}

}  // namespace tally::exchange
