// SPDX-License-Identifier: Apache-2.0
#include "regression_pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/base/task_traits.hpp>
#include <tally/metrics/regression_pass.hpp>

#include "comparable_metrics.hpp"
#include "paired_samples.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {
namespace {

using metrics::RegressionRecord;

// The target of an element that takes part in no rank correlation: PairRows leaves those out.
constexpr float kNotCounted = std::numeric_limits<float>::quiet_NaN();

// The mean absolute error over the outputs. A prediction that is not finite is as far off as can
// be, so that a change to or from it is the largest of all.
double error_of(const RegressionRecord& row) {
  if (!row.finite) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::int64_t i = 0; i < row.num_outputs; ++i) {
    sum += std::abs(double{row.predictions[i]} - double{row.targets[i]});
  }
  return sum / static_cast<double>(row.num_outputs);
}

// A sample and the size of its change.
struct SizeOfChange {
  double size = 0;
  std::int64_t sample = 0;
};

// Equal changes are ordered by sample, so that the list does not depend on how it is sorted.
bool comes_before(const SizeOfChange& left, const SizeOfChange& right) {
  return left.size != right.size ? left.size > right.size : left.sample < right.sample;
}

}  // namespace

RegressionPair::RegressionPair(metrics::MetricOptions options, PairedValues values)
    : metrics_(std::move(options)), values_(std::move(values)) {
  // Samples are cut out of the three arrays by position, which needs equal sizes.
  const std::size_t elements = values_.indices.size() * to_size(metrics_.options().num_classes);
  if (values_.targets.size() != elements || values_.a.size() != elements ||
      values_.b.size() != elements) {
    throw Error(ErrorKind::internal, "runs of unequal length are paired");
  }
}

std::uint64_t RegressionPair::index_of(std::int64_t sample) const {
  return static_cast<std::uint64_t>(values_.indices[to_size(sample)]);
}

RegressionRecord RegressionPair::row(Side side, std::int64_t sample) const {
  const auto outputs = to_size(metrics_.options().num_classes);
  // The record points into values_ and copies nothing; it is valid as long as this object.
  const auto from = to_size(sample) * outputs;
  const std::span<const float> predictions = side == Side::a ? values_.a : values_.b;
  return metrics::regression_row(index_of(sample), predictions.subspan(from, outputs),
                                 std::span(values_.targets).subspan(from, outputs));
}

metrics::PrecomputedUpdates RegressionPair::prepare(Side side, std::int64_t first,
                                                    std::int64_t count) const {
  std::vector<RegressionRecord> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(row(side, first + i));
  return {metrics_, std::span<const RegressionRecord>(rows)};
}

std::unique_ptr<CurveMetrics> RegressionPair::ordered(Side side) const {
  // LocalSpearman reads all rows in its constructor, so that `read` may refer to this call.
  const ordered_metrics::PairRows rows{
      .num_rows = size(),
      .num_outputs = metrics_.options().num_classes,
      .first_index = values_.indices.empty() ? 0 : values_.indices.front(),
      .read = [&](std::int64_t first, std::int64_t count, std::span<float> predictions,
                  std::span<float> targets) {
        for (std::int64_t i = 0; i < count; ++i) {
          const RegressionRecord found = row(side, first + i);
          const auto outputs = to_size(found.num_outputs);
          std::copy_n(found.predictions, outputs, predictions.begin());
          std::copy_n(found.targets, outputs, targets.begin());
          // A NaN whose target counts would be refused; the row is in no metric of a regression.
          if (!found.finite) std::ranges::fill(targets.first(outputs), kNotCounted);
          predictions = predictions.subspan(outputs);
          targets = targets.subspan(outputs);
        }
      }};
  return make_spearman(metrics_.options().names, rows);
}

ValuePrediction RegressionPair::prediction(Side side, std::int64_t sample) const {
  const RegressionRecord found = row(side, sample);
  return {.values = {found.predictions, found.predictions + found.num_outputs},
          .error = error_of(found)};
}

Changes RegressionPair::changes(std::int64_t most) const {
  ValueChanges changes;
  std::vector<SizeOfChange> sizes;
  for (std::int64_t i = 0; i < size(); ++i) {
    const double a = error_of(row(Side::a, i));
    const double b = error_of(row(Side::b, i));
    // Both errors may be infinite, and the difference of these would be NaN.
    if (a == b) continue;
    ++(b < a ? changes.closer : changes.farther);
    sizes.push_back({std::abs(b - a), i});
  }
  // Only the listed changes need an order.
  const auto listed = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(most, std::ssize(sizes)));
  std::partial_sort(sizes.begin(), sizes.begin() + listed, sizes.end(), comes_before);
  const auto outputs = metrics_.options().num_classes;
  for (const SizeOfChange& change : std::span(sizes).first(to_size(listed))) {
    const auto targets = values_.targets.begin() + change.sample * outputs;
    changes.first.push_back({.index = values_.indices[to_size(change.sample)],
                             .targets = {targets, targets + outputs},
                             .a = prediction(Side::a, change.sample),
                             .b = prediction(Side::b, change.sample)});
  }
  return changes;
}

namespace {

// Reads a column with one value for each output: [samples] for one output, else [samples, outputs].
std::vector<float> values_of(const KnownRun& known, const char* column) {
  const std::int64_t outputs = known.settings.num_classes;
  return known.run.column<float>(column, "labels", outputs == 1 ? Shape{} : Shape{outputs});
}

// Evaluation refuses targets that are not finite, so that one in the file means damage.
// Error(dataset) names it.
std::vector<float> targets_of(const KnownRun& known) {
  auto targets = values_of(known, "label");
  const auto bad =
      std::ranges::find_if_not(targets, [](float value) { return std::isfinite(value); });
  if (bad == targets.end()) return targets;
  const auto row = to_size((bad - targets.begin()) / known.settings.num_classes);
  known.run.throw_dataset_error("label", row, format("{}", *bad), "a finite number");
}

void require_same_targets(const TwoRuns& runs, const std::vector<float>& a,
                          const std::vector<float>& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end()) return;
  throw Error(
      ErrorKind::dataset,
      format("{} and {} differ in the labels: /label[{}] has {} and {}", runs.a.run.name(),
             runs.b.run.name(), (in_a - a.begin()) / runs.a.settings.num_classes, *in_a, *in_b),
      "Evaluate both models on one data set.");
}

// A regression of maps saves the predicted pixels at most (--save masks) and never their targets,
// so that no error of a pixel can be computed again.
void refuse_maps(const SavedRun& run) {
  if (!run.has_column("pixels")) return;
  throw Error(
      ErrorKind::usage,
      format("{} is a regression whose values are pixels, which are not compared", run.name()));
}

}  // namespace

ReadPair read_value_pair(const SavedRun& a, const SavedRun& b,
                         const std::vector<std::string>& names) {
  const TwoRuns runs{KnownRun(a), KnownRun(b)};
  refuse_maps(a);
  ReadPair pair;
  // The columns of --save labels give every metric of a regression.
  const auto none = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  auto options =
      choose_metrics(std::string(task_name(TaskKind::regression)), runs, names, none, pair);
  PairedValues values{.indices = a.indices(),
                      .targets = targets_of(runs.a),
                      .a = values_of(runs.a, "prediction"),
                      .b = values_of(runs.b, "prediction")};
  require_same_targets(runs, values.targets, targets_of(runs.b));
  pair.samples = std::make_unique<RegressionPair>(std::move(options), std::move(values));
  return pair;
}

}  // namespace tally::compare
