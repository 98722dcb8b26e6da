// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/local_curves.hpp>

#include <limits>
#include <numeric>

#include <tally/base/error.hpp>
#include <tally/ordered_metrics/score_rows.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

namespace tally::ordered_metrics {

std::int64_t PresortedRows::num_places(const ScoreRows& rows, const ThresholdBins& bins) {
  return rows.num_rows * rows.num_classes + bins.num_bins();
}

// The rows are ordered by bin with a counting sort: the first loop counts the elements of each bin,
// the prefix sums say where each bin begins, the second loop puts the rows there. The bins of all
// elements are kept between the two, so that the rows are read once.
PresortedRows::PresortedRows(const ScoreRows& rows, ScoreKeys keys, const ThresholdBins& bins) {
  // Offsets and rows are int32, which halves the memory and what a replicate reads.
  if (num_places(rows, bins) >= std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::internal, "places of 2^31 scores");
  }
  std::vector<std::int32_t> bin_of_element;
  bin_of_element.reserve(to_size(rows.num_rows * rows.num_classes));
  first_in_bin_.assign(to_size(bins.num_bins()) + 1, 0);
  std::vector<std::int64_t> found;
  for_each_window(rows, keys, [&](const ScoreWindow& window) {
    found.resize(window.scores.size());
    bins.find(window, found);
    for (const std::int64_t bin : found) {
      bin_of_element.push_back(static_cast<std::int32_t>(bin));
      if (bin != ThresholdBins::kNowhere) ++first_in_bin_[static_cast<std::size_t>(bin) + 1];
    }
  });
  std::partial_sum(first_in_bin_.begin(), first_in_bin_.end(), first_in_bin_.begin());
  rows_by_bin_.resize(static_cast<std::size_t>(first_in_bin_.back()));
  std::vector<std::int32_t> next(first_in_bin_.begin(), first_in_bin_.end() - 1);
  for (std::size_t i = 0; i < bin_of_element.size(); ++i) {
    if (bin_of_element[i] == ThresholdBins::kNowhere) continue;
    const auto place = next[static_cast<std::size_t>(bin_of_element[i])]++;
    rows_by_bin_[static_cast<std::size_t>(place)] =
        static_cast<std::int32_t>(i / to_size(rows.num_classes));
  }
}

void PresortedRows::count(std::span<const std::uint8_t> weight_of_row,
                          std::span<std::int64_t> counts) const {
  const std::int32_t* row = rows_by_bin_.data();
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    const std::int32_t* const end = rows_by_bin_.data() + first_in_bin_[bin + 1];
    std::int64_t sum = 0;
    for (; row != end; ++row) sum += weight_of_row[static_cast<std::size_t>(*row)];
    counts[bin] = sum;
  }
}

struct LocalCurves::Impl {
  Impl(const ScoreRows& rows, ScoreKeys keys)
      : num_rows(to_size(rows.num_rows)), bins(bins_of(rows, keys)), placed(rows, keys, bins) {}

  std::size_t num_rows;
  ThresholdBins bins;
  PresortedRows placed;
};

LocalCurves::LocalCurves(const ScoreRows& rows, ScoreKeys keys)
    : impl_(std::make_unique<Impl>(rows, keys)) {}
LocalCurves::~LocalCurves() = default;
LocalCurves::LocalCurves(LocalCurves&&) noexcept = default;

void LocalCurves::count(metrics::RowWeights weights, std::vector<CurveCounts>& curves) const {
  const std::vector<std::uint8_t> once(weights.empty() ? impl_->num_rows : 0, 1);
  if (weights.empty()) weights = once;
  if (weights.size() != impl_->num_rows) {
    throw Error(ErrorKind::internal, "curves need one weight a row");
  }
  std::vector<std::int64_t> counts(to_size(impl_->bins.num_bins()));
  impl_->placed.count(weights, counts);
  impl_->bins.fill(counts, curves);
}

}  // namespace tally::ordered_metrics
