// SPDX-License-Identifier: Apache-2.0
// Average precision over ranks: whatever rank has which detections, and in whatever pieces they
// travel, it is that of one walk over all of them.
#include <tally/distributed_metrics/detection_average_precision.hpp>

#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>

#include <tally/base/error.hpp>
#include <tally/comm/agree.hpp>
#include <tally/ordered_metrics/precision_at_recalls.hpp>

#include "comm_fixture.hpp"
#include "slices.hpp"

namespace tally::distributed_metrics {
namespace {

using namespace ordered_metrics;

using metrics::DetectionRecord;
using metrics::kNumAreaRanges;
using Rows = std::vector<DetectionRecord>;

constexpr std::int64_t kClasses = 6;

class DetectionPrecisionTest : public comm::CommTest {
 protected:
  // The same on every rank. Scores are few, so that many are tied; class 4 has objects and no
  // detections, class 5 no objects.
  void SetUp() override {
    std::mt19937_64 random(21);
    for (std::int64_t image = 0; image < 60; ++image) {
      for (std::int32_t place = 0; place < static_cast<std::int32_t>(random() % 9); ++place) {
        const std::uint64_t judged = random() & ((std::uint64_t{1} << 40) - 1);
        const std::uint64_t right = random() & judged;
        const auto label = static_cast<std::int32_t>(random() % 5);
        all_.push_back({.score = static_cast<double>(random() % 7) / 4,
                        .image = image,
                        .right = right,
                        .wrong = judged & ~right,
                        .label = label == 4 ? 5 : label,
                        .place = place});
      }
    }
    for (std::int64_t c = 0; c < kClasses; ++c) {
      for (std::int64_t area = 0; area < kNumAreaRanges; ++area) {
        objects_.push_back(c == 5 || (c == 2 && area == 1) ? 0 : 150 - 20 * area);
      }
    }
  }

  AveragePrecisions of_slice(const Slice& slice, std::int64_t window_bytes) {
    return average_precisions(
        world(),
        {.num_rows = slice.count,
         .read =
             [&](std::int64_t first, std::int64_t count, std::span<DetectionRecord> rows) {
               std::copy_n(all_.begin() + slice.first + first, count, rows.begin());
             },
         .window_bytes = window_bytes},
        {objects_, rows_per_class()});
  }

  std::vector<std::int64_t> rows_per_class() const {
    std::vector<std::int64_t> rows(kClasses, 0);
    for (const DetectionRecord& row : all_) ++rows.at(static_cast<std::size_t>(row.label));
    return rows;
  }

  // Of one area range; of all thresholds or one.
  double walked(int area, int first_threshold, int end_threshold) {
    double sum = 0;
    int count = 0;
    for (std::int32_t c = 0; c < kClasses; ++c) {
      const auto objects =
          objects_[static_cast<std::size_t>(c) * kNumAreaRanges + static_cast<std::size_t>(area)];
      if (objects == 0) continue;
      Rows ranked;
      std::ranges::copy_if(all_, std::back_inserter(ranked),
                           [&](const DetectionRecord& row) { return row.label == c; });
      std::ranges::stable_sort(ranked, std::ranges::greater(), &DetectionRecord::score);
      for (int t = first_threshold; t < end_threshold; ++t) {
        for (const double value :
             precision_at_recalls(ranked, metrics::verdict_bit(area, t), objects)) {
          sum += value;
          ++count;
        }
      }
    }
    return sum / count;
  }

  Rows all_;
  std::vector<std::int64_t> objects_;
};

TEST_F(DetectionPrecisionTest, IsThatOfOneWalk) {
  const auto found = of_slice(slice_of(0, std::ssize(all_), rank(), size()), 1 << 20);
  EXPECT_NEAR(found.ap.value(), walked(0, 0, 10), 1e-13);
  EXPECT_NEAR(found.ap50.value(), walked(0, 0, 1), 1e-13);
  EXPECT_NEAR(found.ap75.value(), walked(0, 5, 6), 1e-13);
  EXPECT_NEAR(found.ap_small.value(), walked(1, 0, 10), 1e-13);
  EXPECT_NEAR(found.ap_medium.value(), walked(2, 0, 10), 1e-13);
  EXPECT_NEAR(found.ap_large.value(), walked(3, 0, 10), 1e-13);
  EXPECT_EQ(found.classes[4].ap, 0);
  EXPECT_FALSE(found.classes[5].ap);
  EXPECT_FALSE(found.classes[5].ap50);
  double sum = 0;
  for (std::size_t c = 0; c < 5; ++c) sum += found.classes[c].ap50.value();
  EXPECT_NEAR(sum / 5, found.ap50.value(), 1e-13);
}

TEST_F(DetectionPrecisionTest, DoesNotDependOnRanksAndPieces) {
  const auto whole = of_slice(slice_of(2, std::ssize(all_), rank(), size()), 1 << 20);
  for (int how = 0; how < kNumSlicings; ++how) {
    const auto slice = slice_of(how, std::ssize(all_), rank(), size());
    for (const std::int64_t window : {1, 200, 1 << 20}) {
      const auto found = of_slice(slice, window);
      EXPECT_EQ(found.evidence, whole.evidence) << how << " " << window;
      EXPECT_EQ(found.ap, whole.ap);
    }
  }
}

TEST_F(DetectionPrecisionTest, EvidenceTellsOrdersApart) {
  const auto slice = slice_of(0, std::ssize(all_), rank(), size());
  const auto before = of_slice(slice, 1 << 20).evidence;
  // Of equal scores the images come in another order.
  const auto best = std::ranges::max(all_, {}, &DetectionRecord::score).score;
  for (DetectionRecord& row : all_) {
    if (row.score == best) row.image = 60 - row.image;
  }
  EXPECT_NE(of_slice(slice, 1 << 20).evidence, before);
}

TEST_F(DetectionPrecisionTest, IsUndefinedWithoutObjects) {
  std::ranges::fill(objects_, 0);
  all_.clear();
  const auto found = of_slice({}, 1 << 20);
  EXPECT_FALSE(found.ap);
  EXPECT_FALSE(found.ap_large);
  EXPECT_EQ(found.classes.size(), 6U);
}

TEST_F(DetectionPrecisionTest, WhatReadingThrowsIsAgreedOn) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(average_precisions(
                   world(),
                   {.num_rows = rank() == 0 ? 1 : 0,
                    .read = [](auto, auto, auto) { throw Error(ErrorKind::output, "planted"); }},
                   {objects_, rows_per_class()}),
               comm::AgreedFailure);
  EXPECT_EQ(testing::internal::GetCapturedStderr().empty(), rank() != 0);
}

TEST(ClassOwners, ShareRowsEvenly) {
  EXPECT_THAT(owners_of_classes(std::vector<std::int64_t>{1, 9, 4, 5, 0}, 2),
              testing::ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(owners_of_classes(std::vector<std::int64_t>{3, 2}, 4), testing::ElementsAre(0, 1));
  EXPECT_THAT(owners_of_classes({}, 3), testing::ElementsAre());
}

}  // namespace
}  // namespace tally::distributed_metrics
