// SPDX-License-Identifier: Apache-2.0
// Matches what a model found in an image with the objects that are there. The rules are those of
// COCO's evaluation (pycocotools' COCOeval, boxes).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tally/exact/state.hpp>
#include <tally/metrics/sample_records.hpp>
#include <tally/predictions/record_batch.hpp>

namespace tally::tasks {

// x, y, width, height in pixels of the annotated image.
using Box = std::array<double, 4>;

struct Detection {
  Box box{};
  double score = 0;
  std::int32_t label = 0;
  bool operator==(const Detection&) const = default;
};

struct ImageObject {
  Box box{};
  double area = 0;  // by which it is small, medium or large: that of its mask, not of its box
  std::int32_t label = 0;
  bool is_crowd = false;
};

// A point (x, y) of the model's input is (x * scale_x + offset_x, y * scale_y + offset_y) in the
// annotated image.
struct Placement {
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

// corners: x1, y1, x2, y2 in the model's input.
Box placed(std::span<const float, 4> corners, const Placement& placement);

// Of each class, as many detections of an image take part at most: those with the best scores, of
// equal ones the first.
inline constexpr std::size_t kMostDetections = 100;
// Overlaps from which on a detection may have found an object: the doubles of
// numpy.linspace(0.5, 0.95, 10).
std::array<double, metrics::kNumIouThresholds> iou_thresholds();

// Intersection over union; of a crowd, over the area of the detection.
double overlap(const Box& detection, const ImageObject& object);

// An image, as it is counted.
struct ImageMatch {
  std::vector<metrics::ObjectRow> objects;           // in the order given
  std::vector<metrics::DetectionRecord> detections;  // class by class, the best first
};
// Both in the order of the data set and of the model: of equally good matches the later object
// counts. Scores are finite.
ImageMatch match(std::int64_t image, std::span<const ImageObject> objects,
                 std::span<const Detection> detections);

// What scorers keep of an image until its objects are read, as ragged columns.
inline constexpr std::int64_t kRetainedBoxes =
    0;  // float32 [4], x1, y1, x2, y2 in the model's input
inline constexpr std::int64_t kRetainedLabels = 1;  // int32
inline constexpr std::int64_t kRetainedScores = 2;  // float32

// A task whose units are images with objects.
class DetectionTask {
 public:
  virtual void count(std::span<const metrics::SampleRecord> images, exact::State& state) const = 0;
  virtual void count(const ImageMatch& match, exact::State& state) const = 0;
  // Where a state holds how many objects count, [classes, area ranges].
  virtual exact::StateSpan objects(const exact::StateLayout& layout) const = 0;
  // And how many detections take part, [classes].
  virtual exact::StateSpan predicted(const exact::StateLayout& layout) const = 0;

 protected:
  ~DetectionTask() = default;
};

// An image: its sample, and what COCO calls it.
struct ImageName {
  std::int64_t index = 0, id = 0;
};

// predictions.h5: one row per image. matched: what match() says of it and of these detections.
std::vector<predictions::ColumnSpec> detection_columns();
void append_detections(const ImageName& image, std::span<const Detection> detections,
                       const ImageMatch& matched, predictions::RecordBatch& records);

// `{"image_id":…,"category_id":…,"bbox":[…],"score":…}`: COCO's format of results, with numbers
// that read back to the same bits.
std::string result_json(std::int64_t image_id, std::int64_t category_id,
                        const Detection& detection);

}  // namespace tally::tasks
