// SPDX-License-Identifier: Apache-2.0
// Samples that a network is tried with before there are data.
#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <tally/libtorch/equivalence_check.hpp>

namespace tally::libtorch {
namespace {

at::Tensor probe(const at::Tensor& input) { return probe_inputs({input}).front(); }

TEST(ProbeInputsTest, SamplesDiffer) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kLong, at::kBool}) {
    SCOPED_TRACE(type);
    const auto found = probe(at::zeros({3, 16}, type));
    EXPECT_EQ(found.scalar_type(), type);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < i; ++j) EXPECT_FALSE(found[i].equal(found[j])) << i << j;
    }
  }
}

TEST(ProbeInputsTest, FewWholeNumbersAreNotTheSameInAllSamples) {
  for (const std::int64_t columns : {2, 3, 4, 5, 6}) {
    const auto found = probe(at::zeros({3, columns}, at::kLong));
    EXPECT_TRUE(found.select(1, 0).eq(1).all().item<bool>());
    EXPECT_FALSE(found[0].equal(found[1])) << columns;
    EXPECT_FALSE(found[1].equal(found[2])) << columns;
  }
}

TEST(ProbeInputsTest, NumbersAreOfEveryNetworksRange) {
  const auto images = probe(at::zeros({3, 4, 5}));
  EXPECT_TRUE(images.ge(-2).logical_and(images.lt(2)).all().item<bool>());
  EXPECT_TRUE(images.lt(0).any().item<bool>());
  const auto tokens = probe(at::zeros({3, 16}, at::kLong));
  EXPECT_TRUE(tokens.ge(0).logical_and(tokens.le(1)).all().item<bool>());
  EXPECT_TRUE(tokens.select(1, 0).eq(1).all().item<bool>()) << "each sample begins with 1";
  EXPECT_TRUE(tokens.eq(0).any().item<bool>());
}

TEST(ProbeInputsTest, LayoutsAreKept) {
  const auto images = at::zeros({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(probe(images).strides(), images.strides());
}

TEST(ProbeInputsTest, NoSampleAndSingleNumbersAreTaken) {
  EXPECT_EQ(probe(at::zeros({0, 4}, at::kLong)).size(0), 0);
  EXPECT_EQ(probe(at::zeros({0, 4})).size(0), 0);
  const auto single = probe(at::zeros({4}, at::kLong));
  EXPECT_FALSE(single[0].equal(single[1]));
}

}  // namespace
}  // namespace tally::libtorch
