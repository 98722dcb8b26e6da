// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <tally/model/load_torch_libraries.hpp>
#include <tally/model/passthrough_predictor.hpp>
#include <tally/model/torch_info.hpp>

#include "model_fixture.hpp"

namespace tally::model {
namespace {

using testing::ContainerEq;
using testing::HasSubstr;

double largest_deviation(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

TEST(PredictorTest, WhatIsLoadedAheadSaysWhatItLacks) {
  EXPECT_FALSE(load_ahead({}).valid());
  const device::Device one_too_many{DeviceKind::cuda, 99, "none"};
  try {
    load_ahead(one_too_many).get();
    FAIL() << "there is no GPU number 99";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_THAT(error.what(), HasSubstr("LibTorch"));
  }
}

TEST(PredictorTest, IsFrozenTorchScriptBitForBit) {
  EXPECT_THAT(run(*load("net.pt")), ContainerEq(read_floats("net.f32")));
}

TEST(PredictorTest, IsCloseToEagerInDoublePrecision) {
  EXPECT_LT(largest_deviation(run(*load("net.pt")), read_floats("net.exact.f32")), 2e-6);
}

TEST(PredictorTest, AModelSavedInTrainingModeIsEvaluated) {
  auto predictor = load("net_training.pt");
  EXPECT_THAT(run(*predictor), ContainerEq(read_floats("net.f32")));
}

TEST(PredictorTest, TracedAndAlreadyFrozenModelsRunToo) {
  EXPECT_LT(largest_deviation(run(*load("net_traced.pt")), read_floats("net.f32")), 2e-6);
  EXPECT_LT(largest_deviation(run(*load("net_frozen.pt")), read_floats("net.f32")), 2e-6);
}

TEST(PredictorTest, AnyStridesAreTaken) {
  auto predictor = load("net.pt");
  EXPECT_LT(largest_deviation(run(*predictor, contiguous_batch()), read_floats("net.f32")), 2e-6);
}

TEST(PredictorTest, ASampleDoesNotDependOnItsPlaceOrItsNeighbours) {
  auto predictor = load("net.pt");
  const auto expected = run(*predictor);
  auto order = in_order();
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    // Some neighbours appear twice, as padding does.
    order[3] = order[4];
    const auto scores = run(*predictor, channels_last_batch(order));
    for (std::size_t place = 0; place < order.size(); ++place) {
      const auto first = expected.begin() + 10 * order[place];
      const auto local = scores.begin() + static_cast<std::ptrdiff_t>(10 * place);
      EXPECT_TRUE(std::equal(local, local + 10, first)) << "sample " << order[place];
    }
    order = in_order();
  }
}

TEST(PredictorTest, EveryCallGivesTheSameBits) {
  for (const auto* model : {"net.pt", "matmul_tree.pt"}) {
    auto predictor = load(model);
    const auto first = run(*predictor);
    for (int call = 0; call < 4; ++call) EXPECT_THAT(run(*predictor), ContainerEq(first)) << model;
  }
}

TEST(PredictorTest, ClassesMayBeLeftOut) {
  auto predictor = load("net.pt");
  auto expected = run(*predictor);
  const auto classes = std::ssize(expected) / kBatch;
  for (std::int64_t row = 0; row < kBatch; ++row) {
    for (const std::int64_t left_out : {std::int64_t{1}, classes - 1}) {
      expected[to_size(row * classes + left_out)] = -std::numeric_limits<float>::infinity();
    }
  }
  predictor->exclude_classes({1, classes - 1});
  EXPECT_THAT(run(*predictor), ContainerEq(expected));
  predictor->exclude_classes({});
  EXPECT_THAT(run(*predictor),
              testing::Each(testing::Truly([](float x) { return std::isfinite(x); })));
}

TEST(PredictorTest, SavedScoresMayLackClasses) {
  const auto predictor = make_passthrough_predictor();
  std::vector<float> scores{1, 2, 3, 4, 5, 6};
  const auto view = contiguous_view(scores.data(), DType::f32, {2, 3});
  predictor->exclude_classes({0, 2});
  const auto found = predictor->predict({&view, 1}).front();
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(std::vector<float>(found.as<const float>(), found.as<const float>() + 6),
              testing::ElementsAre(kNone, 2, kNone, kNone, 5, kNone));
  EXPECT_EQ(scores[0], 1) << "what was read stays";
}

TEST(PredictorTest, TheFileMayBeGoneAfterLoading) {
  std::unique_ptr<Predictor> predictor;
  {
    File model("net.pt");
    const auto loaded = load_model(model, plainly());
    std::fill(model.bytes.begin(), model.bytes.end(), std::byte{0xff});
    swap_weights(*loaded, weights::open_checkpoint(fixture_path("weights.safetensors"), {}));
    predictor = loaded->into_predictor();
  }
  EXPECT_THAT(run(*predictor), ContainerEq(read_floats("other.f32")));
}

TEST(PredictorTest, CardComesFromTheFileOrFromBesideIt) {
  ASSERT_TRUE(load("net.pt")->card());
  EXPECT_EQ(load("net.pt")->card()->num_classes, 10);
  EXPECT_FALSE(load("net_no_card.pt")->card());
  const File model("net_no_card.pt");
  const File card("card.json");
  PredictorOptions options;
  options.card = card;
  EXPECT_EQ(load_predictor(model, options)->card()->inputs.at(0).name, "image");
}

TEST(PredictorTest, ABadCardNamesFileAndKey) {
  const auto message = error_of(ErrorKind::model, [] { load("net_bad_card.pt"); });
  EXPECT_THAT(message, HasSubstr("model 'net_bad_card.pt': num_classes in its card is \"ten\""));
}

TEST(PredictorTest, HalfPrecisionModelTakesAndGivesFloat) {
  auto predictor = load("net_half.pt");
  EXPECT_LT(largest_deviation(run(*predictor), read_floats("half.f32")), 4e-3);
}

TEST(PredictorTest, DoublesAreRoundedToFloat) {
  const auto scores = run(*load("Doubles.pt"));
  const auto inputs = read_floats("inputs.f32");
  EXPECT_EQ(scores.at(0), static_cast<float>(static_cast<double>(inputs.at(0)) / 3));
}

TEST(PredictorTest, OneTensorInATupleOrListIsUnpacked) {
  for (const auto* model : {"OneTuple.pt", "OneList.pt"}) {
    const auto scores = run(*load(model));
    ASSERT_EQ(scores.size(), 160u);
    EXPECT_EQ(scores[0], read_floats("inputs.f32")[0]);
  }
}

TEST(PredictorTest, NanPassesThrough) {
  const auto scores = run(*load("MakesNan.pt"));
  EXPECT_TRUE(std::isnan(scores.at(0)));
}

TEST(PredictorTest, SeveralInputsOfTheirOwnTypes) {
  auto predictor = load("TwoInputs.pt");
  std::vector<std::int64_t> ids{1, 2, 3, 4, 5, 6};
  std::vector<float> scale{2, 3};
  const std::vector<TensorView> inputs{contiguous_view(ids.data(), DType::i64, {2, 3}),
                                       contiguous_view(scale.data(), DType::f32, {2, 1})};
  const auto output = predictor->predict(inputs).front();
  EXPECT_EQ(output.shape, (Shape{2, 3}));
  EXPECT_EQ(output.as<float>()[4], 15.0f);
}

TEST(PredictorTest, WhatAModelMayNotReturn) {
  const auto message = [](const std::string& model) {
    auto predictor = load(model);
    return error_of(ErrorKind::model, [&] { run(*predictor); });
  };
  EXPECT_THAT(message("ReturnsDict.pt"), HasSubstr("returned Dict[str, Tensor], expected tensors"));
  EXPECT_THAT(message("WrongRows.pt"), HasSubstr("returned [15, 10] for 16 samples"));
  EXPECT_THAT(message("Scalar.pt"), HasSubstr("returned [] for 16 samples"));
}

// Whether they make sense is the task's to say.
TEST(PredictorTest, SeveralTensorsAndIntegersAreHandedOut) {
  const auto batch = channels_last_batch(in_order());
  const auto two = load("TwoTuple.pt");
  EXPECT_EQ(two->predict({&batch.view, 1}).size(), 2U);
  const auto classes = load("Classes.pt");
  EXPECT_EQ(classes->predict({&batch.view, 1}).front().dtype, DType::i64);
}

TEST(PredictorTest, AModelThatRaisesIsToldInOneLine) {
  auto predictor = load("Raises.pt");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { run(*predictor); }),
              HasSubstr("model 'Raises.pt' failed (builtins.ValueError: this model never works)"));
}

TEST(PredictorTest, InputsThatTheModelDoesNotTake) {
  std::vector<float> values(3 * 8 * 8 * 2);
  const auto view = contiguous_view(values.data(), DType::f32, {2, 3, 8, 8});
  auto with_card = load("net.pt");
  EXPECT_THAT(error_of(ErrorKind::model,
                       [&] {
                         with_card->predict({&view, 1});
                       }),
              HasSubstr("takes input 'image' [any, 3, 12, 12], it was given [2, 3, 8, 8]"));
  auto without = load("net_no_card.pt");
  EXPECT_THAT(error_of(ErrorKind::model,
                       [&] {
                         without->predict({&view, 1});
                       }),
              HasSubstr("mat1 and mat2 shapes cannot be multiplied"));
  const std::vector<TensorView> two{view, view};
  EXPECT_THAT(error_of(ErrorKind::model, [&] { with_card->predict(two); }),
              HasSubstr("takes 1 inputs, it was given 2"));
}

TEST(PredictorTest, AFixedBatchIsKept) {
  auto predictor = load("net_fixed.pt");
  EXPECT_THAT(error_of(ErrorKind::model, [&] { run(*predictor); }),
              HasSubstr("takes batches of 8 only, it was given 16"));
}

TEST(PredictorTest, OneThreadMeansOne) {
  const File model("net.pt");
  PredictorOptions options;
  options.threads = 0;
  error_of(ErrorKind::usage, [&] { load_predictor(model, options); });
}

TEST(BackendTest, NamesLibraryAndInstructionSet) {
  EXPECT_THAT(torch_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\\+(cpu|cu[0-9]+)"));
  EXPECT_THAT(backend_description(), HasSubstr("LibTorch " + torch_version() + ", "));
}

}  // namespace
}  // namespace tally::model
