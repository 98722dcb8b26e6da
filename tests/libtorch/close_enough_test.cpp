// SPDX-License-Identifier: Apache-2.0
// What counts as the same scores.
#include <limits>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <tally/libtorch/equivalence_check.hpp>

namespace tally::libtorch {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(CloseEnoughTest, RoundingIs) {
  const auto plain = at::ones({2, 3}) * 1e-6;
  check_close_enough(plain * 1.0005, plain);
  check_close_enough(at::zeros({2, 3}), at::zeros({2, 3}));
  check_close_enough(at::zeros({0, 3}), at::zeros({0, 3}));
}

TEST(CloseEnoughTest, AnotherScoreIsNot) {
  const auto plain = at::ones({2, 3});
  auto other = at::ones({2, 3});
  other[1][2] = 1.05;
  EXPECT_THROW(check_close_enough(other, plain), std::runtime_error);
  check_close_enough(other.to(at::kBFloat16), plain.to(at::kBFloat16));
  EXPECT_THROW(check_close_enough(at::ones({3, 2}), plain), std::runtime_error);
  EXPECT_THROW(check_close_enough(at::ones({2, 3}, at::kDouble), plain), std::runtime_error);
}

TEST(CloseEnoughTest, NanThatIsHiddenIsNot) {
  auto plain = at::ones({2, 3});
  plain[0][1] = kNan;
  EXPECT_THROW(check_close_enough(at::ones({2, 3}), plain), std::runtime_error);
  EXPECT_THROW(check_close_enough(plain, at::ones({2, 3})), std::runtime_error);
  auto infinite = at::ones({2, 3});
  infinite[0][1] = -std::numeric_limits<float>::infinity();
  check_close_enough(infinite, plain);  // no more finite than it was
}

TEST(CloseEnoughTest, OneOfAHundredWholeNumbersMayDiffer) {
  const auto plain = at::zeros({200}, at::kLong);
  auto other = plain.clone();
  for (int i = 0; i < 2; ++i) other[i] = 1;
  check_close_enough(other, plain);
  other[2] = 1;
  EXPECT_THROW(check_close_enough(other, plain), std::runtime_error);
}

TEST(CloseEnoughTest, SameKernelsRoundLess) {
  const auto plain = at::ones({2, 3});
  check_close_enough(plain * 1.0005, plain, kOfKernels);
  EXPECT_THROW(check_close_enough(plain * 1.0005, plain, kOfBatchSizes), std::runtime_error);
}

// Boxes in pixels beside probabilities.
TEST(CloseEnoughTest, ScoresOfOtherKindsAreComparedApart) {
  const auto plain = at::ones({4, 5});
  plain.narrow(1, 0, 4).fill_(640);
  auto other = plain.clone();
  other.select(1, 4).fill_(0.5);
  EXPECT_THROW(check_close_enough(other, plain), std::runtime_error);
  other.copy_(plain).select(1, 0).add_(0.5);
  check_close_enough(other, plain);
  const auto anchors_last = [](const at::Tensor& of) {
    return of.reshape({2, 2, 5}).transpose(1, 2);
  };
  check_close_enough(anchors_last(other), anchors_last(plain));
  other.copy_(plain).select(1, 4).fill_(0.5);
  EXPECT_THROW(check_close_enough(anchors_last(other), anchors_last(plain)), std::runtime_error);
}

TEST(CloseEnoughTest, ScoresNearZeroAreAsRoundAsTheOthers) {
  const auto plain = at::ones({4, 5});
  plain.select(1, 4).fill_(1e-9);
  auto other = plain.clone();
  other.select(1, 4).add_(1e-5);
  check_close_enough(other, plain);
}

TEST(CloseEnoughTest, AllThatIsReturnedCounts) {
  const auto one = at::ones({2});
  const auto tuple = [](const at::Tensor& a, const at::Tensor& b) {
    return c10::IValue(c10::ivalue::Tuple::create({a, c10::List<at::Tensor>({b})}));
  };
  check_close_enough(tuple(one, one), tuple(one, one));
  EXPECT_THROW(check_close_enough(tuple(one, one * 2), tuple(one, one)), std::runtime_error);
  EXPECT_THROW(check_close_enough(one, tuple(one, one)), std::runtime_error);
  const auto dict = [](const at::Tensor& tensor) {
    c10::Dict<std::string, at::Tensor> named;
    named.insert("scores", tensor);
    return c10::IValue(named);
  };
  check_close_enough(dict(one), dict(one));
  EXPECT_THROW(check_close_enough(dict(one * 2), dict(one)), std::runtime_error);
}

}  // namespace
}  // namespace tally::libtorch
