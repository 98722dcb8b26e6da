#include <tally/ordered_metrics/local_curves.hpp>

#include <tally/base/error.hpp>
#include <tally/ordered_metrics/presorted_rows.hpp>
#include <tally/ordered_metrics/threshold_bins.hpp>

namespace tally::ordered_metrics {

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
