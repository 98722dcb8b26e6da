// SPDX-License-Identifier: Apache-2.0
#include <tally/tasks/detection_matching.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <tally/base/checked_cast.hpp>
#include <tally/base/format.hpp>

#include "column.hpp"

namespace tally::tasks {
namespace {

using metrics::DetectionRecord;
using metrics::kNumAreaRanges;
using metrics::kNumIouThresholds;

// A range holds areas in square pixels of the annotated image.
struct Range {
  double least, most;
  bool holds(double area) const { return least <= area && area <= most; }
};
// Both ends belong to a range, so that an area at a border is in two. The numbers are areaRng of
// pycocotools' Params, where 1e5 ** 2 ends the range of all areas.
constexpr double kSmallest = 32 * 32, kLargest = 96 * 96, kAll = 1e10;
constexpr std::array<Range, kNumAreaRanges> kRanges{
    {{0, kAll}, {0, kSmallest}, {kSmallest, kLargest}, {kLargest, kAll}}};

constexpr int kUnmatched = -1;

double area_of(const Box& box) { return box[2] * box[3]; }

// This class holds the objects of one class in one image against the best detections of that class,
// for each range of areas and each threshold of overlap, which costs O(detections * objects) each.
class ClassMatch {
 public:
  ClassMatch(std::vector<const ImageObject*> objects, std::vector<const Detection*> detections)
      : objects_(std::move(objects)), detections_(std::move(detections)) {
    // The sort is stable, as COCO's mergesort is: of equal scores the order of the model decides.
    std::ranges::stable_sort(detections_, std::ranges::greater(),
                             [](const Detection* one) { return one->score; });
    detections_.resize(std::min(detections_.size(), kMostDetections));
  }

  void append_to(std::int64_t image, std::vector<DetectionRecord>& rows) {
    const std::size_t first = rows.size();
    for (const Detection* one : detections_) {
      rows.push_back({.score = one->score,
                      .image = image,
                      .label = one->label,
                      // Recall among the best 1 and 10 detections is counted by this place.
                      .place = static_cast<std::int32_t>(rows.size() - first)});
    }
    const auto of_image = std::span(rows).subspan(first);
    const auto thresholds = iou_thresholds();
    for (int area = 0; area < kNumAreaRanges; ++area) {
      // Which objects count differs between ranges, and with it their order.
      order_objects(kRanges[to_size(area)]);
      measure();
      for (int t = 0; t < kNumIouThresholds; ++t) {
        judge(kRanges[to_size(area)], thresholds[to_size(t)], metrics::verdict_bit(area, t),
              of_image);
      }
    }
  }

 private:
  // Moves objects that do not count, which are crowds and those outside of the range, behind those
  // that do. Either part keeps the order of the data set, as in COCO's evaluation.
  void order_objects(const Range& range) {
    ordered_ = objects_;
    // clang 14 cannot read std::ranges::stable_partition() of GCC 12.
    const auto end_of_counted = std::stable_partition(
        ordered_.begin(), ordered_.end(),
        [&](const auto* object) { return !object->is_crowd && range.holds(object->area); });
    num_counted_ = static_cast<int>(end_of_counted - ordered_.begin());
  }

  // The overlaps of a range serve all its thresholds.
  void measure() {
    overlaps_.clear();
    for (const Detection* one : detections_) {
      for (const ImageObject* object : ordered_) overlaps_.push_back(overlap(one->box, *object));
    }
  }

  // Gives detections their objects at one threshold, the best detection first. Sets `bit` in
  // `right` where an object was found that counts, in `wrong` where none was found and the area of
  // the detection lies in the range. A detection that is ignored gets neither.
  void judge(const Range& range, double threshold, std::uint64_t bit,
             std::span<DetectionRecord> rows) {
    // Thresholds do not affect each other: an object that was found at one is free at the next.
    is_taken_.assign(ordered_.size(), false);
    for (std::size_t d = 0; d < detections_.size(); ++d) {
      const int found = best_object(d, threshold);
      if (found != kUnmatched) is_taken_[to_size(found)] = true;
      const bool counts =
          found != kUnmatched ? found < num_counted_ : range.holds(area_of(detections_[d]->box));
      if (!counts) continue;
      (found != kUnmatched ? rows[d].right : rows[d].wrong) |= bit;
    }
  }

  // Returns the place of the object that the detection overlaps most, or kUnmatched. A crowd may be
  // found many times. An object that does not count is only looked at where none that counts was
  // found.
  int best_object(std::size_t detection, double threshold) const {
    const double* const overlaps = overlaps_.data() + detection * ordered_.size();
    int best = kUnmatched;
    for (int i = 0; i < std::ssize(ordered_); ++i) {
      if (is_taken_[to_size(i)] && !ordered_[to_size(i)]->is_crowd) continue;
      if (best != kUnmatched && best < num_counted_ && i >= num_counted_) break;
      if (overlaps[i] < threshold) continue;
      // The next object needs at least this overlap; of equal ones the later object counts, as in
      // COCO's evaluation.
      threshold = overlaps[i];
      best = i;
    }
    return best;
  }

  std::vector<const ImageObject*> objects_;
  std::vector<const Detection*> detections_;
  // Of the area range in hand:
  std::vector<const ImageObject*> ordered_;
  int num_counted_ = 0;
  std::vector<double> overlaps_;  // [detections, objects]
  std::vector<bool> is_taken_;
};

// A crowd gets no range, so that it counts in no recall.
metrics::ObjectRow row_of(const ImageObject& object) {
  metrics::ObjectRow row{.label = object.label};
  for (std::uint32_t area = 0; area < kNumAreaRanges; ++area) {
    if (!object.is_crowd && kRanges[area].holds(object.area)) row.areas |= 1U << area;
  }
  return row;
}

}  // namespace

Box placed(std::span<const float, 4> corners, const Placement& placement) {
  // All arithmetic from here on is in double. Boxes are neither rounded to pixels nor clipped.
  const double x1 = corners[0] * placement.scale_x + placement.offset_x;
  const double y1 = corners[1] * placement.scale_y + placement.offset_y;
  const double x2 = corners[2] * placement.scale_x + placement.offset_x;
  const double y2 = corners[3] * placement.scale_y + placement.offset_y;
  return {x1, y1, x2 - x1, y2 - y1};
}

std::array<double, kNumIouThresholds> iou_thresholds() {
  constexpr double kFirst = 0.5, kLast = 0.95;
  std::array<double, kNumIouThresholds> thresholds{};
  const double step = (kLast - kFirst) / (kNumIouThresholds - 1);
  for (int t = 0; t < kNumIouThresholds; ++t) thresholds[to_size(t)] = t * step + kFirst;
  return thresholds;
}

double overlap(const Box& detection, const ImageObject& object) {
  // The operations and their order are those of bbIou() in COCO's maskApi.c, so that overlaps are
  // the same doubles and no comparison with a threshold differs.
  const Box& there = object.box;
  const double width =
      std::min(detection[2] + detection[0], there[2] + there[0]) - std::max(detection[0], there[0]);
  const double height =
      std::min(detection[3] + detection[1], there[3] + there[1]) - std::max(detection[1], there[1]);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height;
  const double either =
      object.is_crowd ? area_of(detection) : area_of(detection) + area_of(there) - both;
  return both / either;
}

ImageMatch match(std::int64_t image, std::span<const ImageObject> objects,
                 std::span<const Detection> detections) {
  struct OfClass {
    std::vector<const ImageObject*> objects;
    std::vector<const Detection*> detections;
  };
  ImageMatch match;
  // The map orders classes by label, so that rows come in one order whatever the model's is.
  std::map<std::int32_t, OfClass> classes;
  for (const ImageObject& object : objects) {
    match.objects.push_back(row_of(object));
    classes[object.label].objects.push_back(&object);
  }
  for (const Detection& one : detections) classes[one.label].detections.push_back(&one);
  for (auto& [label, of_class] : classes) {
    ClassMatch(std::move(of_class.objects), std::move(of_class.detections))
        .append_to(image, match.detections);
  }
  return match;
}

std::vector<predictions::ColumnSpec> detection_columns() {
  // The columns are in order of their names; append_detections() numbers them by hand.
  return {{"annotated", DType::i64, {}},  {"box", DType::f64, {4}, true},
          {"correct", DType::i64, {}},    {"image_id", DType::i64, {}},
          {"index", DType::i64, {}},      {"label", DType::i32, {}, true},
          {"score", DType::f64, {}, true}};
}

void append_detections(const ImageName& image, std::span<const Detection> detections,
                       const ImageMatch& matched, predictions::RecordBatch& records) {
  constexpr std::size_t kAnnotated = 0, kBox = 1, kCorrect = 2, kImageId = 3, kIndex = 4,
                        kLabel = 5, kScore = 6;
  constexpr std::size_t kNumColumns = 7;
  records.columns.resize(kNumColumns);
  records.lengths.resize(kNumColumns);
  ++records.num_rows;
  append_value<std::int64_t>(
      records.columns[kAnnotated],
      std::ranges::count_if(matched.objects, [](const metrics::ObjectRow& object) {
        return (object.areas & (1U << metrics::kAllAreas)) != 0;
      }));
  append_value<std::int64_t>(
      records.columns[kCorrect],
      std::ranges::count_if(matched.detections, [](const metrics::DetectionRecord& one) {
        // Threshold 0 is an overlap of 0.50, by which docs/formats.md defines "correct".
        return (one.right & metrics::verdict_bit(metrics::kAllAreas, 0)) != 0;
      }));
  append_value(records.columns[kImageId], image.id);
  append_value(records.columns[kIndex], image.index);
  for (const std::size_t column : {kBox, kLabel, kScore}) {
    records.lengths[column].push_back(std::ssize(detections));
  }
  for (const Detection& one : detections) {
    append_value(records.columns[kBox], one.box);
    append_value(records.columns[kLabel], one.label);
    append_value(records.columns[kScore], one.score);
  }
}

std::string result_json(std::int64_t image_id, std::int64_t category_id,
                        const Detection& detection) {
  const auto& [x, y, width, height] = detection.box;
  // Without a precision the format is the shortest that reads back to the same bits.
  return format(R"({{"image_id":{},"category_id":{},"bbox":[{},{},{},{}],"score":{}}})", image_id,
                category_id, x, y, width, height, detection.score);
}

}  // namespace tally::tasks
