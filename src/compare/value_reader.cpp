#include <algorithm>
#include <cmath>

#include <tally/base/checked_cast.hpp>
#include <tally/base/task_traits.hpp>

#include "chosen_metrics.hpp"
#include "regression_pair.hpp"
#include "scoring_settings.hpp"

namespace tally::compare {
namespace {

std::vector<float> values_of(const KnownRun& known, const char* column) {
  const std::int64_t outputs = known.settings.num_classes;
  return known.run.column<float>(column, "labels", outputs == 1 ? Shape{} : Shape{outputs});
}

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

// Their pixels are not saved with what they should be.
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
