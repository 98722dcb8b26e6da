// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <tally/base/checked_cast.hpp>
#include <tally/metrics/metric_set.hpp>

namespace tally::metrics {
namespace {

using testing::ElementsAre;

MetricOptions options() { return {.task = "detection", .num_classes = 3}; }

// Right at the first `thresholds` thresholds of an area range.
std::uint64_t right_at(int area, int thresholds) {
  std::uint64_t set = 0;
  for (int t = 0; t < thresholds; ++t) set |= verdict_bit(area, t);
  return set;
}

TEST(DetectionMetrics, RecallIsTheShareFoundWithSoManyDetections) {
  const MetricSet metrics(options());
  exact::State state(metrics.layout());
  const std::vector<ObjectRow> objects{{0, 0b0011}, {0, 0b0101}, {1, 0b0011}, {2, 0}};
  const std::vector<DetectionRecord> detections{
      {.right = right_at(kAllAreas, 10) | right_at(kSmall, 10), .label = 0, .place = 0},
      {.right = right_at(kAllAreas, 5) | right_at(kMedium, 5), .label = 0, .place = 9},
      {.right = right_at(kAllAreas, 1) | right_at(kSmall, 1), .label = 1, .place = 10},
      {.wrong = right_at(kAllAreas, 10), .label = 2, .place = 0},
  };
  metrics.update(objects, state);
  metrics.update(detections, state);
  const Results results = metrics.finalize(state);
  const auto value = [&](const char* name) { return results.find(name)->value; };
  EXPECT_DOUBLE_EQ(value("ar1").value(), (0.5 + 0) / 2);
  EXPECT_DOUBLE_EQ(value("ar10").value(), (0.75 + 0) / 2);
  EXPECT_DOUBLE_EQ(value("ar100").value(), (0.75 + 0.1) / 2);
  EXPECT_DOUBLE_EQ(value("ar_small").value(), (1 + 0.1) / 2);
  EXPECT_DOUBLE_EQ(value("ar_medium").value(), 0.5);
  EXPECT_FALSE(value("ar_large"));
  const auto& classes = results.per_class;
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_THAT((std::vector{classes[0].support, classes[0].predicted, classes[0].correct}),
              ElementsAre(2, 2, 2));
  EXPECT_THAT((std::vector{classes[2].support, classes[2].predicted, classes[2].correct}),
              ElementsAre(0, 1, 0));
  EXPECT_DOUBLE_EQ(classes[0].value("ar100").value(), 0.75);
  EXPECT_FALSE(classes[2].value("ar100"));
}

TEST(DetectionMetrics, AnySplitIsTheSameBits) {
  std::mt19937_64 random(3);
  std::vector<DetectionRecord> rows(200);
  for (DetectionRecord& row : rows) {
    row = {.right = random() & ((std::uint64_t{1} << 40) - 1),
           .label = static_cast<std::int32_t>(random() % 3),
           .place = static_cast<std::int32_t>(random() % 20)};
  }
  const MetricSet metrics(options());
  exact::State whole(metrics.layout()), first(metrics.layout()), second(metrics.layout());
  metrics.update(rows, whole);
  metrics.update(std::span<const DetectionRecord>(rows).first(77), second);
  metrics.update(std::span<const DetectionRecord>(rows).subspan(77), first);
  first.merge(second);
  EXPECT_TRUE(std::ranges::equal(first.bytes(), whole.bytes()));
}

TEST(DetectionMetrics, PrecisionNeedsTheOrderOfAllAndComesFirst) {
  const auto known = known_metrics("detection");
  std::vector<std::string_view> names;
  for (const auto& metric : known) names.push_back(metric.name);
  EXPECT_THAT(names, ElementsAre("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar1",
                                 "ar10", "ar100", "ar_small", "ar_medium", "ar_large"));
  for (const auto& metric : known) EXPECT_EQ(metric.needs_order, metric.name[1] == 'p');
  EXPECT_TRUE(MetricSet(options()).needs_order());
}

}  // namespace
}  // namespace tally::metrics
