// SPDX-License-Identifier: Apache-2.0
#include "families/detection_metrics.hpp"

#include <memory>

#include <tally/base/checked_cast.hpp>
#include <tally/exact/sum.hpp>

#include "count_records.hpp"

namespace tally::metrics {
namespace {

// Computes the mean of shares. Each share is rounded as in pycocotools, their sum is exact, so that
// the order of the classes does not matter.
class Mean {
 public:
  void add(std::int64_t part, std::int64_t whole) {
    shares_.push_back(static_cast<double>(part) / static_cast<double>(whole));
  }
  std::optional<double> value() const {
    if (shares_.empty()) return std::nullopt;
    std::vector<std::int64_t> limbs(to_size(exact::num_limbs(exact::SumKind::float64)));
    exact::add_all(limbs, shares_);
    return exact::mean(limbs, exact::SumKind::float64, std::ssize(shares_));
  }

 private:
  std::vector<double> shares_;
};

class DetectionMetrics : public Family {
 public:
  explicit DetectionMetrics(std::int64_t num_classes) : num_classes_(num_classes) {}

  void declare(exact::StateLayout& layout, RowCounters& counters) override {
    found_ =
        layout.add_counters("detections.found", num_classes_ * kNumRecallKinds * kNumIouThresholds);
    objects_ = layout.add_counters("detections.objects", num_classes_ * kNumAreaRanges);
    predicted_ = layout.add_counters("detections.predicted", num_classes_);
    counters.detections = {objects_.offset, predicted_.offset, found_.offset};
  }

  void finalize(const exact::State& state, Results& results) const override {
    results.per_class.clear();
    for (std::int64_t c = 0; c < num_classes_; ++c) {
      Mean recall;
      add_class(state, c, kAllAreas, kBest100, recall);
      // What is found at the first threshold, an overlap of 0.50, counts as correct.
      results.per_class.push_back({c,
                                   objects(state, c, kAllAreas),
                                   state.of(predicted_)[to_size(c)],
                                   found(state, c, kBest100)[0],
                                   {{"ar100", recall.value()}}});
    }
    // These six are COCOeval.stats 6 to 11: means of recall over classes and overlaps.
    const auto add = [&](const char* name, int area, int kind) {
      Mean recall;
      for (std::int64_t c = 0; c < num_classes_; ++c) add_class(state, c, area, kind, recall);
      results.metrics.push_back({name, recall.value()});
    };
    add("ar1", kAllAreas, kBest1);
    add("ar10", kAllAreas, kBest10);
    add("ar100", kAllAreas, kBest100);
    add("ar_small", kSmall, kRecallSmall);
    add("ar_medium", kMedium, kRecallMedium);
    add("ar_large", kLarge, kRecallLarge);
  }

 private:
  std::int64_t objects(const exact::State& state, std::int64_t c, int area) const {
    return state.of(objects_)[to_size(c * kNumAreaRanges + area)];
  }
  // Returns how many objects are found, at each threshold of overlap.
  std::span<const std::int64_t> found(const exact::State& state, std::int64_t c, int kind) const {
    return state.of(found_).subspan(to_size((c * kNumRecallKinds + kind) * kNumIouThresholds),
                                    kNumIouThresholds);
  }
  // Adds the recall of one class at each threshold. Classes without objects that count are left
  // out, for which pycocotools writes -1.
  void add_class(const exact::State& state, std::int64_t c, int area, int kind,
                 Mean& recall) const {
    const std::int64_t whole = objects(state, c, area);
    if (whole == 0) return;
    for (const std::int64_t part : found(state, c, kind)) recall.add(part, whole);
  }

  std::int64_t num_classes_;
  exact::StateSpan found_, objects_, predicted_;
};

}  // namespace

FamilyEntry average_precision_family() {
  const auto metric = [](std::string_view name, std::string_view definition) {
    return MetricDescription{.name = name, .definition = definition, .needs_order = true};
  };
  return {.metrics = {metric("ap", "average precision, mean of classes and overlaps 0.50 to 0.95"),
                      metric("ap50", "ap at an overlap of 0.50"),
                      metric("ap75", "ap at an overlap of 0.75"),
                      metric("ap_small", "ap of objects with an area up to 32 x 32 pixels"),
                      metric("ap_medium", "ap of objects with an area of 32 x 32 to 96 x 96"),
                      metric("ap_large", "ap of objects with an area from 96 x 96 on")},
          .kept = Kept::on_request,
          .make = [](const MetricOptions&) -> std::unique_ptr<Family> {
            return std::make_unique<DeferredFamily>();
          }};
}

FamilyEntry detection_family() {
  return {.metrics = {{"ar1", "share of objects found with 1 detection per class and image"},
                      {"ar10", "the same with 10 detections"},
                      {"ar100", "the same with 100 detections"},
                      {"ar_small", "ar100 of objects with an area up to 32 x 32 pixels"},
                      {"ar_medium", "ar100 of objects with an area of 32 x 32 to 96 x 96"},
                      {"ar_large", "ar100 of objects with an area from 96 x 96 on"}},
          .kept = Kept::always,
          .make = [](const MetricOptions& options) -> std::unique_ptr<Family> {
            return std::make_unique<DetectionMetrics>(options.num_classes);
          }};
}

// Detections are matched with objects after the loop: no pass counts them.
template void MetricSet::add(std::span<const ObjectRow>, exact::State&) const;
template void MetricSet::add(std::span<const DetectionRecord>, exact::State&) const;

}  // namespace tally::metrics
