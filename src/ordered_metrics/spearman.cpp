// SPDX-License-Identifier: Apache-2.0
#include <tally/ordered_metrics/spearman.hpp>

#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/format.hpp>
#include <tally/ordered_metrics/global_ranks.hpp>

#include "int128.hpp"

namespace tally::ordered_metrics {

std::optional<double> spearman(const SpearmanSums& sums) {
  const auto predictions = static_cast<double>(int128_of(sums.predictions));
  const auto targets = static_cast<double>(int128_of(sums.targets));
  if (predictions == 0 || targets == 0) return std::nullopt;
  const auto products = static_cast<double>(int128_of(sums.products));
  // The root and the quotient are rounded: a perfect correlation could come out as 1 + 2^-52.
  return std::clamp(products / std::sqrt(predictions * targets), -1.0, 1.0);
}

std::optional<double> mean_spearman(std::span<const SpearmanSums> outputs) {
  double sum = 0;
  for (const SpearmanSums& of_output : outputs) {
    const auto value = spearman(of_output);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(outputs.size());
}

namespace {

constexpr std::int64_t kWindowElements = std::int64_t{1} << 20;  // 8 MiB of both

}  // namespace

std::vector<PairValues> read_outputs(const PairRows& rows, std::int64_t first, std::int64_t count) {
  std::vector<PairValues> outputs(to_size(count));
  const std::int64_t max_rows = std::max<std::int64_t>(1, kWindowElements / rows.num_outputs);
  std::vector<float> predictions;
  std::vector<float> targets;
  for (std::int64_t row = 0; row < rows.num_rows; row += max_rows) {
    const std::int64_t num_rows = std::min(max_rows, rows.num_rows - row);
    predictions.resize(to_size(num_rows * rows.num_outputs));
    targets.resize(predictions.size());
    rows.read(row, num_rows, predictions, targets);
    for (std::int64_t i = 0; i < num_rows; ++i) {
      const std::int64_t index = rows.first_index + row + i;
      for (std::int64_t output = 0; output < count; ++output) {
        const auto at = to_size(i * rows.num_outputs + first + output);
        if (std::isnan(targets[at])) continue;
        if (std::isnan(predictions[at])) {
          throw Error(ErrorKind::numeric,
                      format("output {} of sample {} is NaN", first + output, index),
                      "Ranks need values that can be compared.");
        }
        PairValues& values = outputs[to_size(output)];
        values.predictions.push_back(predictions[at]);
        values.targets.push_back(targets[at]);
        values.index.push_back(index);
      }
    }
  }
  return outputs;
}

SpearmanSums spearman_partials(const Weights& weights, std::span<const std::int64_t> predictions,
                               std::span<const std::int64_t> targets) {
  SpearmanSums share;
  Wide of_predictions = 0;
  Wide of_targets = 0;
  Wide of_products = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    share.count += weights[i];
    of_predictions += Wide{predictions[i]} * predictions[i] * weights[i];
    of_targets += Wide{targets[i]} * targets[i] * weights[i];
    of_products += Wide{predictions[i]} * targets[i] * weights[i];
  }
  share.predictions = limbs_of(of_predictions);
  share.targets = limbs_of(of_targets);
  share.products = limbs_of(of_products);
  return share;
}

namespace {

// The columns of one output are sorted once, and ranked again for each replicate.
struct Output {
  Output(const PairValues& values, std::int64_t first_index)
      : predictions(values.predictions), targets(values.targets) {
    for (const std::int64_t index : values.index) rows.push_back(to_size(index - first_index));
  }

  RankedColumn predictions, targets;
  std::vector<std::size_t> rows;  // of each value
};

}  // namespace

struct LocalSpearman::Impl {
  std::size_t num_rows = 0;
  std::vector<Output> outputs;
};

LocalSpearman::LocalSpearman(const PairRows& rows) : impl_(std::make_unique<Impl>()) {
  impl_->num_rows = to_size(rows.num_rows);
  for (const PairValues& values : read_outputs(rows, 0, rows.num_outputs)) {
    impl_->outputs.emplace_back(values, rows.first_index);
  }
}
LocalSpearman::~LocalSpearman() = default;
LocalSpearman::LocalSpearman(LocalSpearman&&) noexcept = default;

std::vector<SpearmanSums> LocalSpearman::sum(metrics::RowWeights weights) const {
  if (!weights.empty() && weights.size() != impl_->num_rows) {
    throw Error(ErrorKind::internal, "ranks need one weight a row");
  }
  std::vector<SpearmanSums> sums;
  for (const Output& output : impl_->outputs) {
    Weights of_values(output.rows.size(), 1);
    for (std::size_t i = 0; i < of_values.size() && !weights.empty(); ++i) {
      of_values[i] = weights[output.rows[i]];
    }
    const auto predictions = output.predictions.centred_ranks(of_values);
    const auto targets = output.targets.centred_ranks(of_values);
    sums.push_back(spearman_partials(of_values, predictions, targets));
  }
  return sums;
}

}  // namespace tally::ordered_metrics
