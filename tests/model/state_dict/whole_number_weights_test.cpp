// SPDX-License-Identifier: Apache-2.0
// Tensors of whole numbers whose type in the checkpoint is not the model's.
#include <array>
#include <span>

#include <gtest/gtest.h>

#include <ATen/Functions.h>

#include "expect_error.hpp"
#include "state_dict/weight_loader.hpp"

namespace tally::model {
namespace {

// Puts numbers of `type` into a tensor of type `target`.
template <class Number>
at::Tensor taken(weights::ElementType type, at::ScalarType target, std::array<Number, 2> numbers) {
  auto mask = at::zeros({2}, target);
  WeightLoader loader("net.pt", {{"mask", mask}}, {});
  weights::Checkpoint checkpoint;
  checkpoint.tensors["mask"] = {type, {2}, {}};
  loader.match_state_dict(checkpoint, "");
  weights::StoredPart part;
  part.num_bytes = sizeof numbers;
  part.shape = {2};
  part.strides = part.element_strides = {1};
  loader.copy_tensor_part("mask", part, std::as_bytes(std::span(numbers)));
  return mask;
}

TEST(WholeNumberWeights, StayTheSameNumbers) {
  using weights::ElementType;
  EXPECT_EQ(taken<std::int64_t>(ElementType::i64, at::kByte, {0, 255})[1].item<int>(), 255);
  EXPECT_TRUE(taken<std::uint8_t>(ElementType::u8, at::kBool, {0, 1})[1].item<bool>());
  const auto refused = [](const char* type, const auto& take) {
    expect_error(
        ErrorKind::model,
        {std::string("'mask' has numbers that ") + type + ", the model's type, cannot hold"}, take);
  };
  refused("uint8", [] { taken<std::int64_t>(ElementType::i64, at::kByte, {0, 300}); });
  refused("uint8", [] { taken<std::int8_t>(ElementType::i8, at::kByte, {0, -1}); });
  refused("int8", [] { taken<std::uint8_t>(ElementType::u8, at::kChar, {0, 200}); });
  refused("bool", [] { taken<std::int64_t>(ElementType::i64, at::kBool, {0, 2}); });
}

}  // namespace
}  // namespace tally::model
