// SPDX-License-Identifier: Apache-2.0
#include "replicate_counts.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <tally/ordered_metrics/score_rows.hpp>

namespace tally::distributed_metrics {
namespace {

// Adds rows, of which the first has the global index `first_index`, to the counts of one replicate.
void add_rows(const metrics::PoissonWeights& weights, std::int64_t first_index,
              std::size_t num_classes, std::span<const std::int64_t> bins,
              std::span<std::int64_t> counts) {
  auto index = static_cast<std::uint64_t>(first_index);
  for (; !bins.empty(); bins = bins.subspan(num_classes)) {
    const std::int64_t weight = weights.of(index++);
    if (weight == 0) continue;
    for (const std::int64_t bin : bins.first(num_classes)) {
      if (bin != ordered_metrics::ThresholdBins::kNowhere)
        counts[static_cast<std::size_t>(bin)] += weight;
    }
  }
}

}  // namespace

ReplicateCounts::ReplicateCounts(const ordered_metrics::ScoreRows& rows,
                                 const CurveBootstrap& options,
                                 const ordered_metrics::ThresholdBins& bins)
    : rows_(rows), options_(options), bins_(bins) {
  const std::int64_t num_places = ordered_metrics::PresortedRows::num_places(rows, bins);
  // Both ways give the same counts. The places cost memory and save a reading of all scores for
  // each batch of replicates; PresortedRows refuses 2^31 of them.
  if (num_places <= options.max_place_bytes / ordered_metrics::PresortedRows::kPlaceBytes &&
      num_places < std::numeric_limits<std::int32_t>::max()) {
    placed_.emplace(rows, options.keys, bins);
  }
}

void ReplicateCounts::count(std::int64_t first_replicate, std::span<std::int64_t> counts) const {
  if (!placed_) {
    count_read(first_replicate, counts);
    return;
  }
  const auto num_bins = to_size(bins_.num_bins());
  for (; !counts.empty(); counts = counts.subspan(num_bins)) {
    count_kept(first_replicate++, counts.first(num_bins));
  }
}

void ReplicateCounts::count_kept(std::int64_t replicate, std::span<std::int64_t> counts) const {
  std::vector<std::uint8_t> weight_of_row(to_size(rows_.num_rows));
  weights_of(replicate).fill(static_cast<std::uint64_t>(rows_.first_index), weight_of_row);
  placed_->count(weight_of_row, counts);
}

void ReplicateCounts::count_read(std::int64_t first_replicate,
                                 std::span<std::int64_t> counts) const {
  const auto num_bins = to_size(bins_.num_bins());
  // A window is placed among the thresholds once and then counted for all replicates, since finding
  // the places costs more than adding them.
  std::ranges::fill(counts, 0);
  std::vector<std::int64_t> found;
  ordered_metrics::for_each_window(
      rows_, options_.keys, [&](const ordered_metrics::ScoreWindow& window) {
        found.resize(window.scores.size());
        bins_.find(window, found);
        std::int64_t replicate = first_replicate;
        for (auto rest = counts; !rest.empty(); rest = rest.subspan(num_bins)) {
          add_rows(weights_of(replicate++), rows_.first_index + window.first, window.num_classes,
                   found, rest.first(num_bins));
        }
      });
}

}  // namespace tally::distributed_metrics
