// SPDX-License-Identifier: Apache-2.0
// COCO's rules, one by one; whole sets against pycocotools are in
// end_to_end/tasks/test_detection.py.
#include <tally/tasks/detection_matching.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tally::tasks {
namespace {

using metrics::DetectionRecord;
using metrics::verdict_bit;
using testing::ElementsAre;

enum class Verdict { right, wrong, ignored };

Verdict verdict(const DetectionRecord& row, int area = metrics::kAllAreas, int threshold = 0) {
  const auto bit = verdict_bit(area, threshold);
  EXPECT_FALSE((row.right & bit) != 0 && (row.wrong & bit) != 0);
  if ((row.right & bit) != 0) return Verdict::right;
  return (row.wrong & bit) != 0 ? Verdict::wrong : Verdict::ignored;
}

ImageObject object(Box box, std::int32_t label = 0) {
  return {.box = box, .area = box[2] * box[3], .label = label};
}
ImageObject crowd(Box box) {
  return {.box = box, .area = box[2] * box[3], .label = 0, .is_crowd = true};
}

// Of each detection, in the order of the rows.
std::vector<Verdict> verdicts(const ImageMatch& match, int area = metrics::kAllAreas,
                              int threshold = 0) {
  std::vector<Verdict> found;
  for (const auto& row : match.detections) found.push_back(verdict(row, area, threshold));
  return found;
}

constexpr Box kHere{0, 0, 10, 10}, kThere{50, 50, 10, 10};

TEST(Detections, ThresholdsAreTheDoublesOfNumpy) {
  const auto thresholds = iou_thresholds();
  EXPECT_EQ(thresholds[0], 0.5);
  EXPECT_EQ(thresholds[2], 0x1.3333333333333p-1);
  EXPECT_EQ(thresholds[3], 0x1.4cccccccccccdp-1);
  EXPECT_EQ(thresholds[4], 0x1.6666666666666p-1);
  EXPECT_EQ(thresholds[5], 0.75);
  EXPECT_EQ(thresholds[9], 0.95);
}

TEST(Detections, OverlapIsIntersectionOverUnionAndOfACrowdOverTheDetection) {
  EXPECT_EQ(overlap({5, 0, 10, 10}, object(kHere)), 50.0 / 150);
  EXPECT_EQ(overlap({5, 0, 10, 10}, crowd({0, 0, 100, 100})), 1);
  EXPECT_EQ(overlap({5, 5, 10, 20}, crowd(kHere)), 25.0 / 200);
  EXPECT_EQ(overlap({10, 0, 10, 10}, object(kHere)), 0) << "they touch";
  EXPECT_EQ(overlap({20, 0, 10, 10}, object(kHere)), 0);
  EXPECT_EQ(overlap({0, 20, 10, 10}, object(kHere)), 0);
  EXPECT_EQ(overlap({3, 3, -2, 4}, object(kHere)), 0) << "no box";
  EXPECT_EQ(overlap({5, 5, 0, 0}, object({5, 5, 0, 0})), 0) << "no area";
}

TEST(Detections, CornersAreMappedInDoublePrecision) {
  const std::array corners{1.0f, 2.0f, 4.0f, 8.0f};
  EXPECT_EQ(placed(corners, {1.5, 0.1, -3, 7}),
            (Box{-1.5, 2 * 0.1 + 7, 4.5, (8 * 0.1 + 7) - (2 * 0.1 + 7)}));
}

TEST(Detections, AnObjectIsFoundOnceByTheBest) {
  const std::vector<ImageObject> objects{object(kHere)};
  const std::vector<Detection> found{{kHere, 0.5, 0}, {{0, 0, 10, 9}, 0.75, 0}, {kThere, 0.1, 0}};
  const auto match = tasks::match(7, objects, found);
  EXPECT_THAT(verdicts(match), ElementsAre(Verdict::right, Verdict::wrong, Verdict::wrong));
  // Only the second overlaps enough for the last threshold, and it is judged anew there.
  EXPECT_THAT(verdicts(match, metrics::kAllAreas, 9),
              ElementsAre(Verdict::wrong, Verdict::right, Verdict::wrong));
  EXPECT_EQ(match.detections[0].score, 0.75);
  EXPECT_EQ(match.detections[2].place, 2);
  EXPECT_EQ(match.detections[2].image, 7);
}

TEST(Detections, TakeTheObjectThatOverlapsMostAndOfEqualOnesTheLast) {
  // The first takes the second object, so that the other can only have the first.
  const std::vector<ImageObject> objects{object({0, 0, 10, 8}), object(kHere)};
  const std::vector<Detection> found{{kHere, 0.9, 0}, {{0, 0, 10, 8}, 0.8, 0}};
  EXPECT_THAT(verdicts(match(0, objects, found), metrics::kAllAreas, 9),
              ElementsAre(Verdict::right, Verdict::right));
  // At 0.55 either is good enough for the first detection, but only the last one for the second.
  const std::vector<ImageObject> near{object(kHere), object({0, 0, 10, 6})};
  const std::vector<Detection> less{{kHere, 0.9, 0}, {{0, 0, 10, 5}, 0.8, 0}};
  EXPECT_THAT(verdicts(match(0, near, less), metrics::kAllAreas, 1),
              ElementsAre(Verdict::right, Verdict::right));
  // Both overlap with the first detection by 0.8; with the second only the first does.
  const std::vector<ImageObject> equal{object({0, 0, 10, 8}), object({0, 2, 10, 8})};
  EXPECT_THAT(verdicts(match(0, equal, found), metrics::kAllAreas, 6),
              ElementsAre(Verdict::right, Verdict::right));
}

TEST(Detections, OverlapEqualToTheThresholdIsEnough) {
  const auto judged =
      match(0, std::vector{object(kHere)}, std::vector<Detection>{{{0, 0, 10, 5}, 0.9, 0}});
  EXPECT_THAT(verdicts(judged), ElementsAre(Verdict::right));
  EXPECT_THAT(verdicts(judged, metrics::kAllAreas, 1), ElementsAre(Verdict::wrong));
}

TEST(Detections, ACrowdIsFoundManyTimesAndDoesNotCount) {
  const std::vector<ImageObject> objects{crowd({0, 0, 100, 100})};
  const std::vector<Detection> found{{kHere, 0.9, 0}, {kThere, 0.8, 0}, {{200, 0, 9, 9}, 0.7, 0}};
  const auto judged = match(0, objects, found);
  EXPECT_THAT(verdicts(judged), ElementsAre(Verdict::ignored, Verdict::ignored, Verdict::wrong));
  EXPECT_EQ(judged.objects[0].areas, 0U);
}

TEST(Detections, WhatCountsIsPreferredToACrowd) {
  // The crowd, which comes first, overlaps more.
  const std::vector<ImageObject> objects{crowd({0, 0, 100, 100}), object({0, 0, 10, 8})};
  const std::vector<Detection> found{{kHere, 0.9, 0}, {kHere, 0.8, 0}};
  EXPECT_THAT(verdicts(match(0, objects, found)), ElementsAre(Verdict::right, Verdict::ignored));
}

TEST(Detections, OutsideOfAnAreaRangeTheyAreIgnored) {
  const double side = 40;  // medium
  const std::vector<ImageObject> objects{object({0, 0, side, side})};
  const std::vector<Detection> found{
      {{0, 0, side, side}, 0.9, 0}, {kThere, 0.8, 0}, {{0, 0, side, side}, 0.7, 0}};
  const auto judged = match(0, objects, found);
  EXPECT_THAT(verdicts(judged, metrics::kMedium),
              ElementsAre(Verdict::right, Verdict::ignored, Verdict::wrong));
  EXPECT_THAT(verdicts(judged, metrics::kSmall),
              ElementsAre(Verdict::ignored, Verdict::wrong, Verdict::ignored));
  EXPECT_EQ(judged.objects[0].areas, 1U << metrics::kAllAreas | 1U << metrics::kMedium);
}

TEST(Detections, AnAreaAtABorderIsInBothRanges) {
  const auto areas_of = [](double area) {
    ImageObject one = object(kHere);
    one.area = area;
    return match(0, std::vector{one}, {}).objects[0].areas;
  };
  EXPECT_EQ(areas_of(32 * 32), 0b0111U);
  EXPECT_EQ(areas_of(96 * 96), 0b1101U);
  EXPECT_EQ(areas_of(0), 0b0011U);
  EXPECT_EQ(areas_of(1e10), 0b1001U);
  EXPECT_EQ(areas_of(1.1e10), 0U);
}

TEST(Detections, OfAClassTheBestHundredTakePart) {
  std::vector<Detection> found(103, Detection{kThere, 0.5, 0});
  found[102] = {kHere, 0.75, 0};
  found.push_back({kHere, 0.1, 1});
  const auto judged = match(0, std::vector{object(kHere)}, found);
  ASSERT_EQ(judged.detections.size(), 101U);
  EXPECT_EQ(verdict(judged.detections[0]), Verdict::right);
  EXPECT_EQ(judged.detections[99].place, 99);
  EXPECT_EQ(judged.detections[100].label, 1);
  EXPECT_EQ(judged.detections[100].place, 0);
}

TEST(Detections, OfEqualScoresTheFirstComesFirst) {
  const std::vector<Detection> found{{kThere, 0.5, 0}, {kHere, 0.5, 0}};
  EXPECT_THAT(verdicts(match(0, std::vector{object(kHere)}, found)),
              ElementsAre(Verdict::wrong, Verdict::right));
}

TEST(Detections, FindObjectsOfTheirClassOnly) {
  EXPECT_THAT(verdicts(match(0, std::vector{object(kHere, 1)},
                             std::vector<Detection>{{kHere, 0.5, 0}, {kHere, 0.25, 1}})),
              ElementsAre(Verdict::wrong, Verdict::right));
}

TEST(Detections, AreWrittenWithNumbersThatReadBack) {
  EXPECT_EQ(result_json(42, 18, {{0.1, 2, 1e-9, 250.00000000000003}, 0.30000001192092896, 3}),
            R"({"image_id":42,"category_id":18,"bbox":[0.1,2,1e-09,250.00000000000003],)"
            R"("score":0.30000001192092896})");
}

}  // namespace
}  // namespace tally::tasks
