// SPDX-License-Identifier: Apache-2.0
// Pixels against a plain reading of the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/metric_set.hpp>
#include <tally/metrics/precomputed_updates.hpp>
#include <tally/metrics/segmentation_pass.hpp>

#include "expect_error.hpp"

namespace tally::metrics {
namespace {

using testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::int32_t> plain(const std::vector<float>& scores, std::size_t classes) {
  const std::size_t pixels = scores.size() / classes;
  std::vector<std::int32_t> predictions;
  for (std::size_t i = 0; i < pixels; ++i) {
    std::vector<float> of_pixel;
    for (std::size_t c = 0; c < classes; ++c) of_pixel.push_back(scores[c * pixels + i]);
    const bool finite = std::ranges::all_of(of_pixel, [](float s) { return std::isfinite(s); });
    const auto best = std::ranges::max_element(of_pixel) - of_pixel.begin();
    predictions.push_back(finite ? static_cast<std::int32_t>(best) : -1);
  }
  return predictions;
}

TEST(SegmentationPass, PredictsTheFirstOfTheLargestScores) {
  std::mt19937 random(3);
  for (const std::size_t pixels : {1U, 7U, 2048U, 2049U, 5000U}) {
    for (const std::size_t classes : {1U, 2U, 19U, 300U}) {
      std::vector<float> scores(pixels * classes);
      for (float& score : scores) score = static_cast<float>(random() % 5) - 2;
      scores[random() % scores.size()] = kNan;
      scores[random() % scores.size()] = kInf;
      scores[random() % scores.size()] = -kInf;
      std::vector<std::int32_t> found(pixels);
      predict_pixels(scores, static_cast<std::int64_t>(classes), found);
      EXPECT_EQ(found, plain(scores, classes)) << pixels << " pixels, " << classes << " classes";
    }
  }
}

TEST(SegmentationPass, DoesNotOverflow) {
  std::vector<std::int32_t> found(1);
  const float most = std::numeric_limits<float>::max();
  predict_pixels(std::vector<float>{-most, most, most}, 3, found);
  EXPECT_THAT(found, ElementsAre(1));
}

// Four pixels of two classes: right, wrong, ignored, without a prediction.
const std::vector<float> kScores{0, 5, 1, 2,  //
                                 1, 0, 0, kNan};

template <class T>
SegmentationRecord count(MaskCounts& counts, std::vector<T>& labels, DType dtype) {
  return counts.count(9, kScores, contiguous_view(labels.data(), dtype, {2, 2}), 7);
}

template <class T>
void check_counts(DType dtype) {
  MaskCounts counts(2);
  std::vector<T> labels{1, 1, 7, 0};
  const SegmentationRecord row = count(counts, labels, dtype);
  EXPECT_EQ(row.index, 9U);
  EXPECT_FALSE(row.finite);
  EXPECT_FALSE(row.ignored);
  EXPECT_THAT(counts.kept(), ElementsAre(1, 2, 1, 1, 0, 1));
  labels = {7, 7, 7, 7};
  EXPECT_TRUE(count(counts, labels, dtype).ignored);
  labels = {1, 1, 2, 0};
  expect_error(ErrorKind::internal, {"pixel 2 has the label 2"},
               [&] { count(counts, labels, dtype); });
}

TEST(SegmentationPass, CountsLabelsOfEveryType) {
  check_counts<std::uint8_t>(DType::u8);
  check_counts<std::int16_t>(DType::i16);
  check_counts<std::int32_t>(DType::i32);
  check_counts<std::int64_t>(DType::i64);
}

TEST(SegmentationPass, KeptCountsGiveTheSameMetrics) {
  const MetricSet metrics({.task = "segmentation", .num_classes = 2, .ignore_index = 7});
  MaskCounts counts(2);
  std::vector<std::int64_t> labels{1, 1, 7, 0};
  const SegmentationRecord row = count(counts, labels, DType::i64);
  exact::State once(metrics.layout());
  metrics.update(std::span(&row, 1), once);
  const Results results = metrics.finalize(once);
  EXPECT_EQ(results.units.count, 1);
  EXPECT_EQ(results.units.index_sum, 9U);
  EXPECT_EQ(results.counts.without_scores, 1);
  EXPECT_DOUBLE_EQ(*results.find("accuracy")->value, 1.0 / 3);
  EXPECT_FALSE(results.find("accuracy")->interval);
  EXPECT_DOUBLE_EQ(*results.find("mean_iou")->value, (0.0 + 0.5) / 2);
  EXPECT_THAT(results.confusion, ElementsAre(0, 0, 1, 1));

  const MetricSet again(
      {.task = "segmentation", .num_classes = 2, .names = {"accuracy", "mean_iou"}});
  const std::vector<SegmentationRecord> kept{
      retained_segmentation_record(counts.kept(), 2, row.finite)};
  exact::State twice(again.layout());
  const std::vector<std::uint8_t> weights{2};
  PrecomputedUpdates(again, kept).count(weights, twice);
  const Results doubled = again.finalize(twice);
  EXPECT_EQ(doubled.units.count, 2);
  EXPECT_EQ(doubled.per_class[1].support, 4);
  EXPECT_EQ(doubled.find("mean_iou")->value, results.find("mean_iou")->value);
}

}  // namespace
}  // namespace tally::metrics
