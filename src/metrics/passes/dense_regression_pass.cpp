#include <tally/metrics/dense_regression_pass.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

#include "row_counters.hpp"

namespace tally::metrics {
namespace {

constexpr std::size_t kRun = std::size_t{1} << 20;  // pixels between two carries

bool is_scored(float target) { return !std::isnan(target); }

// Adds a run of pixels; the sum of their squared errors. False where a prediction is not finite.
template <class Add>
bool count_run(const RegressionCounters& counters, std::span<const float> predictions,
               std::span<const float> targets, const Add& add, double& squared_error) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!is_scored(targets[i])) continue;
    if (!is_finite(predictions[i])) return false;
    counters.count_output(0, predictions[i], targets[i], add);
    add(counters.pixels, 1);
    const double error = double{predictions[i]} - double{targets[i]};
    squared_error += error * error;
  }
  return true;
}

}  // namespace

MapSums::MapSums(const MetricSet& metrics) : metrics_(metrics), image_(metrics.layout()) {
  if (metrics.counters().regression.pixels == kNotKept) {
    throw Error(ErrorKind::internal, "sums over pixels were asked of metrics of other values");
  }
}

std::int64_t MapSums::num_sums() const { return metrics_.counters().regression.num_sums; }

DenseRegressionRecord MapSums::count(std::uint64_t index, std::span<const float> predictions,
                                     std::span<const float> targets) {
  if (predictions.size() != targets.size()) {
    throw Error(ErrorKind::internal,
                format("{} predictions for {} pixels", predictions.size(), targets.size()));
  }
  const RegressionCounters& counters = metrics_.counters().regression;
  std::ranges::fill(image_.values(), 0);
  const auto values = image_.values();
  const auto add = [values](std::int64_t offset, std::int64_t value) {
    values[to_size(offset)] += value;
  };
  double squared_error = 0;
  bool finite = true;
  for (std::size_t first = 0; first < targets.size() && finite; first += kRun) {
    const std::size_t count = std::min(kRun, targets.size() - first);
    finite = count_run(counters, predictions.subspan(first, count), targets.subspan(first, count),
                       add, squared_error);
    image_.canonicalise();
  }
  const auto sums = values.subspan(to_size(counters.pixels), to_size(counters.num_sums));
  if (!finite) {
    std::ranges::fill(sums, 0);
    sums[0] = std::ranges::count_if(targets, is_scored);
  }
  DenseRegressionRecord row = retained_dense_regression_record(sums, finite);
  row.index = index;
  row.predictions = predictions;
  const bool has_loss = finite && row.num_pixels > 0;
  row.loss = has_loss ? squared_error / static_cast<double>(row.num_pixels)
                      : std::numeric_limits<double>::quiet_NaN();
  return row;
}

DenseRegressionRecord retained_dense_regression_record(std::span<const std::int64_t> sums,
                                                       bool finite) {
  return {.ignored = sums[0] == 0,
          .finite = finite,
          .num_pixels = sums[0],
          .sums = sums.data(),
          .num_sums = std::ssize(sums)};
}

}  // namespace tally::metrics
