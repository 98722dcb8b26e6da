// SPDX-License-Identifier: Apache-2.0
#include "families/segmentation_metrics.hpp"

#include <tally/base/checked_cast.hpp>

#include "families/metrics_from_class_counts.hpp"
#include "family_counters.hpp"

namespace tally::metrics {
namespace {

using CountsOfClasses = std::vector<ClassCount>;

// The Dice coefficient of a class is its F1 over pixels, as in MulticlassF1Score.
Ratio dice(const ClassCount& count) { return f_beta(count, 1); }

// Follows scikit-learn's balanced_accuracy_score: the mean recall of the classes that have pixels.
std::optional<double> mean_accuracy(const CountsOfClasses& counts) {
  Ratio mean;
  for (const ClassCount& count : counts) {
    if (count.support == 0) continue;
    mean.part += recall(count).value().value_or(0.0);
    mean.whole += 1;
  }
  return mean.value();
}

// Pixels of an image depend on one another: no share of them is a share of independent samples, and
// none has Wilson's interval.
class SegmentationMetrics : public Family {
 public:
  explicit SegmentationMetrics(MetricOptions options) : options_(std::move(options)) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    const std::int64_t classes = options_.num_classes;
    correct_ = layout.add_counters("pixels.correct", classes);
    predicted_ = layout.add_counters("pixels.predicted", classes);
    support_ = layout.add_counters("pixels.support", classes);
    counters.masks = {support_.offset, predicted_.offset, correct_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    const CountsOfClasses counts = counts_of(state);
    results.per_class.clear();
    // Pixels without a prediction are in the support and nowhere else, so they count as wrong.
    Ratio right;
    for (const ClassCount& count : counts) {
      right.part += static_cast<double>(count.correct);
      right.whole += static_cast<double>(count.support);
      results.per_class.push_back({std::ssize(results.per_class),
                                   count.support,
                                   count.predicted,
                                   count.correct,
                                   {{"iou", jaccard(count).value()},
                                    {"dice", dice(count).value()},
                                    {"precision", precision(count).value()},
                                    {"recall", recall(count).value()}}});
    }
    const auto dices = ratios_of(counts, dice);
    const auto add = [&](const char* metric, std::optional<double> value) {
      results.metrics.push_back({metric, value});
    };
    add("accuracy", right.value());
    add("mean_accuracy", mean_accuracy(counts));
    add("mean_iou", mean_iou(counts));
    add("frequency_weighted_iou", weighted(counts, ratios_of(counts, jaccard)));
    add("dice_macro", macro(counts, dices, Absent::left_out));
    add("dice_weighted", weighted(counts, dices));
  }

 private:
  CountsOfClasses counts_of(const exact::State& state) const {
    CountsOfClasses counts;
    for (std::size_t c = 0; c < to_size(options_.num_classes); ++c) {
      // The number of all pixels, which only specificity needs, stays 0.
      counts.push_back({state.of(support_)[c], state.of(predicted_)[c], state.of(correct_)[c]});
    }
    return counts;
  }

  // Follows MulticlassJaccardIndex: torchmetrics leaves a class that is the ignored index out of
  // the mean.
  std::optional<double> mean_iou(CountsOfClasses counts) const {
    const auto ignored = options_.ignore_index.value_or(-1);
    if (options_.definitions == Definitions::torchmetrics && ignored >= 0 &&
        ignored < options_.num_classes) {
      counts.erase(counts.begin() + ignored);
    }
    return macro(counts, ratios_of(counts, jaccard), Absent::left_out);
  }

  MetricOptions options_;
  exact::StateSpan correct_, predicted_, support_;
};

}  // namespace

FamilyEntry mask_family() {
  return {.metrics = {{"accuracy", "share of pixels whose class is predicted"},
                      {"mean_accuracy", "mean over classes of the share of their pixels"},
                      {"mean_iou", "mean of the classes' intersection over union"},
                      {"frequency_weighted_iou",
                       "mean of the classes' intersection over union, by support"},
                      {"dice_macro", "mean of the classes' dice, which is F1 of pixels"},
                      {"dice_weighted", "mean of the classes' dice, by support"}},
          .kept = Kept::always,
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<SegmentationMetrics>(options);
          }};
}

}  // namespace tally::metrics
