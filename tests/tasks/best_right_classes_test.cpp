// SPDX-License-Identifier: Apache-2.0
#include "multiclass/best_right_classes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <vector>

#include <tally/base/tensor_view.hpp>

namespace tally::tasks {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Scores four samples of three classes, which are known by their index in the data set. A sample
// without right classes has the label -1.
class BestRightClasses : public testing::Test {
 protected:
  BestRightClasses() { batch_.num_samples = 4; }

  std::vector<std::int64_t> best() {
    return best_right_classes(batch_, view(scores_.data(), DType::f32, {4, 3}), labels(), right());
  }
  std::vector<std::int64_t> predicted(const std::array<std::int32_t, 4>& classes) {
    return predicted_right_classes(batch_, classes, labels(), right());
  }

  std::array<std::vector<std::int64_t>, 8> right_{};
  std::array<float, 12> scores_{};
  std::array<std::int64_t, 4> labels_{-1, -1, -1, -1};
  ScoredBatch batch_;

 private:
  static TensorView view(void* data, DType dtype, const Shape& shape) {
    return contiguous_view(data, dtype, shape);
  }
  TensorView labels() { return view(labels_.data(), DType::i64, {4}); }
  RightClasses right() {
    return [this](std::int64_t sample) -> std::span<const std::int64_t> {
      return right_.at(static_cast<std::size_t>(sample));
    };
  }
};

using Labels = std::vector<std::int64_t>;

TEST_F(BestRightClasses, AreThoseWithTheGreatestScore) {
  right_ = {{{1, 2}, {2, 1}, {2}, {}}};
  scores_ = {9, 1, 2, /**/ 9, 3, 2, /**/ 9, 1, 0, /**/ 1, 9, 9};
  EXPECT_EQ(best(), (Labels{2, 1, 2, -1}));
}

TEST_F(BestRightClasses, OfEqualScoresAreTheSmallestNumber) {
  right_ = {{{2, 1}, {1, 2}, {2, 0, 1}, {}}};
  scores_ = {9, 5, 5, /**/ 9, 5, 5, /**/ 5, 5, 5, /**/ 5, 5, 5};
  EXPECT_EQ(best(), (Labels{1, 1, 0, -1}));
}

// The data set has the first of its right classes as a sample's own label.
TEST_F(BestRightClasses, AreTheOwnLabelWhereScoresAreNoNumbers) {
  right_ = {{{2, 1}, {1, 2}, {0}, {}}};
  labels_ = {2, 1, 0, -1};
  scores_.fill(kNan);
  EXPECT_EQ(best(), (Labels{2, 1, 0, -1}));
}

TEST_F(BestRightClasses, BelongToTheSamplesOfTheBatch) {
  right_[4] = {1};
  right_[5] = {2};
  right_[7] = {1, 2};
  batch_.first_index = 4;
  scores_[11] = 1;
  EXPECT_EQ(best(), (Labels{1, 2, -1, 2}));
  const std::array<std::int64_t, 4> indices{7, 6, 5, 4};
  batch_.indices = indices;
  EXPECT_EQ(best(), (Labels{1, -1, 2, 1}));
}

// Which of the right classes a wrong prediction is compared with makes no difference to whether it
// is right.
TEST_F(BestRightClasses, OfPredictedClassesAreThePredictedOneOrTheSmallest) {
  right_ = {{{1, 2}, {2, 1}, {2, 1}, {}}};
  EXPECT_EQ(predicted({2, 2, 0, 1}), (Labels{2, 2, 1, -1}));
}

}  // namespace
}  // namespace tally::tasks
