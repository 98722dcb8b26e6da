// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::ContainerEq;
using testing::HasSubstr;

// What it would say on stderr, where the processor is slow at it, is left unsaid.
struct Silence {
  Silence() { testing::internal::CaptureStderr(); }
  ~Silence() { testing::internal::GetCapturedStderr(); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

std::unique_ptr<Predictor> load_as(const std::string& model, Precision precision,
                                   const std::optional<std::string>& weights = std::nullopt) {
  const Silence silence;
  const File model_file(model);
  auto options = plainly();
  options.precision = precision;
  return weights ? load(model_file, options, *weights) : load_predictor(model_file, options);
}

float largest_difference(const std::vector<float>& one, const std::vector<float>& other) {
  EXPECT_EQ(one.size(), other.size());
  float largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    largest = std::max(largest, std::abs(one[i] - other[i]));
  }
  return largest;
}

// What is representable in bfloat16 has no bits below the upper 16.
bool all_bfloat16(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return (bits & 0xffffu) == 0;
  });
}

TEST(PrecisionTest, NamesComeBack) {
  for (const auto* word : {"model", "fp32", "tf32", "bf16", "fp16", "amp-bf16", "amp-fp16"}) {
    EXPECT_EQ(name(precision_from_name(word)), word);
  }
  EXPECT_THAT(error_of(ErrorKind::usage, [] { precision_from_name("fp8"); }), HasSubstr("fp8"));
}

TEST(PrecisionTest, TheModelsOwnIsTheSameBits) {
  const auto own = run(*load("net.pt"));
  EXPECT_THAT(run(*load_as("net.pt", Precision::fp32)), ContainerEq(own));
  EXPECT_THAT(run(*load_as("net_no_card.pt", Precision::fp32)), ContainerEq(own));
}

TEST(PrecisionTest, WeightsAndInputsAreRounded) {
  const auto exact = read_floats("net.exact.f32");
  for (const auto* model : {"net.pt", "net_traced.pt", "net_no_card.pt"}) {
    auto predictor = load_as(model, Precision::bf16);
    EXPECT_EQ(predictor->input_dtype(0), DType::bf16) << model;
    const auto found = run(*predictor);
    EXPECT_TRUE(all_bfloat16(found)) << model;
    const auto difference = largest_difference(found, exact);
    EXPECT_GT(difference, 1e-4f) << model;
    EXPECT_LT(difference, 0.1f) << model;
  }
  auto half = load_as("net.pt", Precision::fp16);
  EXPECT_EQ(half->input_dtype(0), DType::f16);
  const auto difference = largest_difference(run(*half), exact);
  EXPECT_GT(difference, 1e-5f);
  EXPECT_LT(difference, 1e-2f);
}

TEST(PrecisionTest, BFloat16IsLeftAsItIsWhereAskedFor) {
  const auto expected = run(*load_as("net.pt", Precision::bf16));
  const Silence silence;
  const File model("net.pt");
  auto options = plainly();
  options.precision = Precision::bf16;
  options.keeps_bfloat16 = true;
  const auto predictor = load_predictor(model, options);
  const Batch batch = channels_last_batch(in_order());
  const auto output = predictor->predict({&batch.view, 1}).front();
  ASSERT_EQ(output.dtype, DType::bf16);
  ASSERT_EQ(num_elements(output.shape), std::ssize(expected));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t bits = output.as<const std::uint16_t>()[i];
    EXPECT_EQ(std::bit_cast<float>(bits << 16), expected[i]);
  }
}

TEST(PrecisionTest, AHalfModelIsWidened) {
  auto predictor = load_as("net_half.pt", Precision::fp32);
  EXPECT_EQ(predictor->input_dtype(0), DType::f32);
  const auto found = run(*predictor);
  // Rounded weights, exact sums: nearer to the model than its own arithmetic.
  EXPECT_LT(largest_difference(found, read_floats("half.f32")), 4e-3f);
  EXPECT_FALSE(all_bfloat16(found));
}

TEST(PrecisionTest, WeightsAreRoundedOnce) {
  // Through the half precision of the model's own weights they would lose bits.
  EXPECT_THAT(run(*load_as("net_half.pt", Precision::fp32, "state_dict.pth")),
              ContainerEq(read_floats("other.f32")));
}

TEST(PrecisionTest, SharedWeightsStayShared) {
  const auto found = run(*load_as("tied.pt", Precision::bf16, "tied.safetensors"));
  const auto expected = read_floats("tied_other.f32");
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 0.02 + 0.02 * std::abs(expected[i])) << i;
  }
}

TEST(PrecisionTest, ConstantsCannotBeCast) {
  EXPECT_THAT(error_of(ErrorKind::model, [] { load_as("net_frozen.pt", Precision::bf16); }),
              HasSubstr("holds its weights as constants, --precision bf16 cannot cast them"));
  EXPECT_EQ(run(*load_as("net_frozen.pt", Precision::fp32)).size(), 160u);
}

TEST(PrecisionTest, Tf32IsForGpus) {
  EXPECT_THAT(error_of(ErrorKind::environment, [] { load_as("net.pt", Precision::tf32); }),
              HasSubstr("--precision tf32: only GPUs have it"));
}

TEST(PrecisionTest, NoGpuIsSaidInOneLine) {
  const File model("net.pt");
  PredictorOptions options;
  options.device = {DeviceKind::cuda, 99, "no GPU"};
  EXPECT_THAT(error_of(ErrorKind::environment, [&] { load_predictor(model, options); }),
              testing::AnyOf(HasSubstr("LibTorch finds 0 GPUs"), HasSubstr("cannot be loaded")));
}

}  // namespace
}  // namespace tally::model
