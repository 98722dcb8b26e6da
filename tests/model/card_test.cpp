// SPDX-License-Identifier: Apache-2.0
#include <tally/model/card.hpp>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/format.hpp>

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kCard = R"({
  "tally_card": 1,
  "inputs": [{"name": "image", "dtype": "float32", "shape": ["batch", 3, 224, 224]}],
  "outputs": [{"name": "logits", "kind": "log-probabilities", "dtype": "float32",
               "shape": ["batch", 1000]}],
  "fixed_batch": null,
  "normalisation": {"scale": 0.5, "mean": [1, 2, 3], "std": [4, 5, 6], "channels": "BGR"},
  "recipe": {"source": "timm:a.b", "resize": [248, 249], "crop": [224, 225], "crop_share": 0.9,
             "crop_mode": "border", "interpolation": "bicubic"},
  "weights": "frozen",
  "num_classes": 1000,
  "fixed_buffers": ["pos.index"],
  "source": {"model": "torchvision:resnet18"}
})";

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kCard);
  const auto found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return text.replace(found, from.size(), to);
}

std::string complaint(std::string_view text) {
  try {
    parse_card(text, "model 'm.pt'");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(CardTest, EveryKeyIsRead) {
  const auto card = parse_card(kCard, "model 'm.pt'");
  ASSERT_EQ(card.inputs.size(), 1u);
  EXPECT_EQ(card.inputs[0].name, "image");
  EXPECT_EQ(card.inputs[0].dtype, DType::f32);
  EXPECT_THAT(card.inputs[0].shape, ElementsAre(-1, 3, 224, 224));
  EXPECT_EQ(card.inputs[0].kind, "");
  ASSERT_EQ(card.outputs.size(), 1u);
  EXPECT_EQ(card.outputs[0].kind, "log-probabilities");
  EXPECT_THAT(card.outputs[0].shape, ElementsAre(-1, 1000));
  EXPECT_FALSE(card.fixed_batch);
  ASSERT_TRUE(card.normalisation);
  EXPECT_EQ(card.normalisation->scale, 0.5);
  EXPECT_THAT(card.normalisation->mean, ElementsAre(1, 2, 3));
  EXPECT_THAT(card.normalisation->std, ElementsAre(4, 5, 6));
  EXPECT_EQ(card.normalisation->channels, "BGR");
  ASSERT_TRUE(card.recipe);
  EXPECT_EQ(card.recipe->source, "timm:a.b");
  const auto& geometry = card.recipe->geometry;
  EXPECT_EQ(geometry.resize, (ImageSize{248, 249}));
  EXPECT_EQ(geometry.crop, (ImageSize{224, 225}));
  EXPECT_EQ(geometry.crop_share, 0.9);
  EXPECT_EQ(geometry.crop_mode, "border");
  EXPECT_EQ(geometry.interpolation, "bicubic");
  EXPECT_FALSE(card.weights.are_swappable);
  EXPECT_EQ(card.num_classes, 1000);
  EXPECT_THAT(card.weights.fixed_buffers, ElementsAre("pos.index"));
  EXPECT_EQ(card.source, R"({"model":"torchvision:resnet18"})");
}

TEST(CardTest, OperatorsOfTrainingAreRead) {
  const auto card = [](std::string_view list) {
    return parse_card(changed(R"("num_classes": 1000)",
                              format(R"("num_classes": 1000, "training_mode": {})", list)),
                      "model 'm.pt'");
  };
  EXPECT_FALSE(parse_card(kCard, "model 'm.pt'").training_mode);
  EXPECT_THAT(card("[]").training_mode, testing::Optional(testing::IsEmpty()));
  const TrainingOperator dropout{"aten::dropout", "dropout", "net.py:3"};
  const TrainingOperator random{"aten::rand", "random numbers", ""};
  EXPECT_THAT(card(R"([{"operator": "aten::dropout", "what": "dropout", "source": "net.py:3"},
                       {"operator": "aten::rand", "what": "random numbers", "source": null}])")
                  .training_mode,
              testing::Optional(ElementsAre(dropout, random)));
}

TEST(CardTest, ClassesMayHaveNames) {
  const auto card = [](std::string_view entries) {
    return parse_card(changed(R"("num_classes": 1000)", entries), "model 'm.pt'");
  };
  EXPECT_THAT(card(R"("num_classes": 2, "class_names": ["cat", "dog"])").class_names,
              ElementsAre("cat", "dog"));
  EXPECT_THAT(parse_card(kCard, "model 'm.pt'").class_names, testing::IsEmpty());
  const auto refusal = [](const char* entries) {
    return complaint(changed(R"("num_classes": 1000)", entries));
  };
  EXPECT_THAT(refusal(R"("num_classes": 3, "class_names": ["cat", "dog"])"),
              HasSubstr("expected a name for each of 3 classes"));
  EXPECT_THAT(refusal(R"("num_classes": 1, "class_names": [7])"),
              HasSubstr("class_names[0] in its card is 7, expected text"));
  // One of tokens says by its shape, [batch, 1000] here, how many there are.
  EXPECT_THAT(refusal(R"("class_names": ["cat"])"), HasSubstr("a name for each of 1000 classes"));
}

TEST(CardTest, OptionalKeysHaveDefaults) {
  const auto card = parse_card(R"({"tally_card": 1,
    "inputs": [{"name": "x", "dtype": "int64", "shape": ["n", "length"]}],
    "outputs": [{"name": "y", "kind": "logits", "dtype": "float16", "shape": ["n", 2]}]})",
                               "here");
  EXPECT_THAT(card.inputs[0].shape, ElementsAre(-1, -1));
  EXPECT_FALSE(card.normalisation);
  EXPECT_FALSE(card.recipe);
  EXPECT_FALSE(card.num_classes);
  EXPECT_TRUE(card.weights.are_swappable);
  EXPECT_FALSE(card.weights.are_random);
  EXPECT_EQ(card.source, "");
}

TEST(CardTest, RecipesMayBeKnownInPart) {
  auto text = changed(R"("resize": [248, 249], "crop": [224, 225], "crop_share": 0.9,)", "");
  const auto card = parse_card(text, "here");
  ASSERT_TRUE(card.recipe);
  EXPECT_FALSE(card.recipe->geometry.resize);
  EXPECT_FALSE(card.recipe->geometry.crop);
  EXPECT_EQ(card.recipe->geometry.crop_mode, "border");
}

TEST(CardTest, OnlyANullFileMeansRandomWeights) {
  const auto is_random = [](std::string_view weights) {
    const auto text = changed(R"({"model": "torchvision:resnet18"})", weights);
    return parse_card(text, "here").weights.are_random;
  };
  EXPECT_TRUE(is_random(R"({"weights": null})"));
  EXPECT_FALSE(is_random(R"({"weights": {"origin": "as the function made them"}})"));
  EXPECT_FALSE(is_random(R"({"weights": {"path": "w.pth", "sha256": "ab"}})"));
  EXPECT_FALSE(is_random(R"({"model": "m"})"));
  EXPECT_FALSE(is_random("null"));
  EXPECT_FALSE(is_random("[null]"));
}

TEST(CardTest, FixedBatchMayStandInShapes) {
  auto text = changed(R"("fixed_batch": null)", R"("fixed_batch": 8)");
  const auto found = text.find("\"batch\", 3");
  text.replace(found, 7, 1, '8');
  EXPECT_EQ(parse_card(text, "here").fixed_batch, 8);
}

TEST(CardTest, SaysHowManySamplesABatchMayHave) {
  auto card = parse_card(kCard, "model 'm.pt'");
  EXPECT_TRUE(card.takes_batches_of(1'000'000'000));
  EXPECT_EQ(card.batch_sizes(), "");
  const auto with_package = changed("\"fixed_batch\": null", R"("package": {"precision": "fp32",
    "library_sha256": "ab", "layout": "contiguous", "cpu_features": [], "largest_batch": 100})");
  card = parse_card(with_package, "model 'm.pt2'");
  EXPECT_TRUE(card.takes_batches_of(100));
  EXPECT_FALSE(card.takes_batches_of(101));
  EXPECT_EQ(card.batch_sizes(), "at most 100");
  card.fixed_batch = 8;
  EXPECT_TRUE(card.takes_batches_of(8));
  EXPECT_FALSE(card.takes_batches_of(7));
  EXPECT_EQ(card.batch_sizes(), "8 only");
}

TEST(CardTest, SeveralOutputsNeedNoKind) {
  const auto text =
      changed("\"outputs\": [",
              R"("outputs": [{"name": "boxes", "dtype": "float32", "shape": ["batch", 100, 4]}, )");
  const auto card = parse_card(text, "here");
  ASSERT_EQ(card.outputs.size(), 2u);
  EXPECT_EQ(card.outputs[0].kind, "");
  EXPECT_EQ(card.outputs[1].name, "logits");
  EXPECT_THAT(complaint(changed("\"kind\": \"log-probabilities\", ", "")),
              HasSubstr("'outputs[0].kind'"));
}

TEST(CardTest, IntegersNeedNoKind) {
  const auto card = parse_card(
      changed("\"kind\": \"log-probabilities\", \"dtype\": \"float32\"", "\"dtype\": \"int64\""),
      "here");
  EXPECT_EQ(card.outputs.at(0).kind, "");
}

TEST(CardTest, ComplaintsNameTheKey) {
  EXPECT_EQ(
      complaint(
          changed("\"float32\", \"shape\": [\"batch\", 3", "\"floot\", \"shape\": [\"b\", 3")),
      "model 'm.pt': inputs[0].dtype in its card is \"floot\", expected the name of an element "
      "type. Export the model again, or correct the card (docs/model-card.md).");
  EXPECT_THAT(complaint(changed("\"tally_card\": 1", "\"tally_card\": 2")),
              HasSubstr("tally_card in its card is 2, expected 1"));
  EXPECT_THAT(complaint(changed("\"tally_card\"", "\"card\"")), HasSubstr("no key 'tally_card'"));
  EXPECT_THAT(complaint(changed("\"log-probabilities\"", "\"odds\"")),
              HasSubstr("outputs[0].kind in its card is \"odds\", expected one of logits"));
  EXPECT_THAT(complaint(changed("224, 224", "224, -1")), HasSubstr("inputs[0].shape[3]"));
  EXPECT_THAT(complaint(changed("[\"batch\", 1000]", "[]")), HasSubstr("outputs[0].shape"));
  EXPECT_THAT(complaint(changed("[\"batch\", 1000]", "[64, 1000]")), HasSubstr("fixed_batch"));
  EXPECT_THAT(complaint(changed("[1, 2, 3]", "[1, 2]")), HasSubstr("normalisation.mean"));
  EXPECT_THAT(complaint(changed("[4, 5, 6]", "[4, 0, 6]")), HasSubstr("normalisation.std"));
  EXPECT_THAT(complaint(changed("\"BGR\"", "\"CMYK\"")), HasSubstr("normalisation.channels"));
  EXPECT_THAT(complaint(changed("\"timm:a.b\"", "\"\"")), HasSubstr("recipe.source"));
  EXPECT_THAT(complaint(changed("\"source\": \"timm:a.b\", ", "")),
              HasSubstr("no key 'recipe.source'"));
  EXPECT_THAT(complaint(changed("[248, 249]", "248")), HasSubstr("recipe.resize"));
  EXPECT_THAT(complaint(changed("[248, 249]", "[248]")),
              HasSubstr("recipe.resize in its card is [248], expected height and width"));
  EXPECT_THAT(complaint(changed("[224, 225]", "[224, 0]")), HasSubstr("recipe.crop[1]"));
  EXPECT_THAT(complaint(changed("[224, 225]", "[1e9, 2]")), HasSubstr("recipe.crop[0]"));
  EXPECT_THAT(complaint(changed("[224, 225]", "[224, 99999999]")), HasSubstr("side of an image"));
  EXPECT_THAT(complaint(changed("0.9", "-0.9")), HasSubstr("recipe.crop_share"));
  EXPECT_THAT(complaint(changed("\"border\"", "\"mirror\"")),
              HasSubstr("recipe.crop_mode in its card is \"mirror\", expected one of center"));
  EXPECT_THAT(complaint(changed("\"bicubic\"", "3")), HasSubstr("recipe.interpolation"));
  EXPECT_THAT(complaint(changed("\"frozen\"", "true")), HasSubstr("weights in its card is true"));
  EXPECT_THAT(complaint(changed(": 1000,", ": 0,")), HasSubstr("num_classes in its card is 0"));
  EXPECT_THAT(complaint(changed("[\"pos.index\"]", "[3]")), HasSubstr("fixed_buffers[0]"));
}

TEST(CardTest, TextThatIsNoCard) {
  for (const auto* text :
       {"", "{", "[]", "null", "3", "\"x\"", "\xff\xfe", "{\"tally_card\": 1}"}) {
    EXPECT_THAT(complaint(text), HasSubstr("model 'm.pt': ")) << text;
  }
  EXPECT_THAT(complaint(std::string(100'000, '[')), HasSubstr("not a JSON object"));
  EXPECT_THAT(
      complaint(std::string(static_cast<std::size_t>(kMaxCardBytes), ' ') + std::string(kCard)),
      HasSubstr("not a JSON object of at most 16777216 bytes"));
}

// What exporters say of a model's origin is for people, and is written again into the report.
TEST(CardTest, SourcesAreNotNestedWithoutEnd) {
  const auto nested = [](std::size_t lists) {
    return changed(R"({"model": "torchvision:resnet18"})",
                   std::string(lists, '[') + std::string(lists, ']'));
  };
  EXPECT_THAT(parse_card(nested(31), "model 'm.pt'").source, testing::StartsWith("[[["));
  for (const std::size_t lists : {std::size_t{32}, std::size_t{100'000}}) {
    EXPECT_THAT(complaint(nested(lists)), HasSubstr("nested at most 32 deep"));
  }
}

TEST(CardTest, DamagedCardsAreReadOrRefused) {
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text(kCard);
    for (int change = 0; change < 3; ++change) {
      const auto at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random() % 256);
      } else {
        text.erase(at, random() % 12);
      }
    }
    try {
      parse_card(text, "here");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tally::model
