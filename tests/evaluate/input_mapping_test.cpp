// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/evaluate/input_mapping.hpp>

namespace tally::evaluate {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBatch = 4;

data::ColumnInfo column_of(const std::string& path, DType dtype, Shape row_shape) {
  data::ColumnInfo column;
  column.path = path;
  column.name = path.substr(path.rfind('/') + 1);
  column.dtype = dtype;
  column.row_shape = std::move(row_shape);
  return column;
}

data::ColumnInfo image_column() {
  data::ColumnInfo column = column_of("/inputs/image", DType::u8, {5, 6, 3});
  column.image = data::ImageAttributes{"HWC", "RGB", 1.0, {0, 0, 0}, {1, 1, 1}};
  return column;
}

data::DataSetInfo image_set() {
  data::DataSetInfo info;
  info.path = "val.h5";
  info.num_samples = 10;
  info.num_classes = 7;
  info.columns.inputs = {image_column()};
  return info;
}

model::ModelCard image_card() {
  model::ModelCard card;
  card.inputs = {{"image", DType::f32, {-1, 3, 5, 6}, ""}};
  card.num_classes = 7;
  return card;
}

// A model of which only the card is looked at.
class CardOnly : public model::Predictor {
 public:
  explicit CardOnly(std::optional<model::ModelCard> card, DType image_type = DType::f32)
      : card_(std::move(card)), image_type_(image_type) {}
  model::Outputs predict(std::span<const TensorView>) override {
    throw Error(ErrorKind::internal, "this model only has a card");
  }
  const std::optional<model::ModelCard>& card() const override { return card_; }
  DType input_dtype(std::size_t) const override { return image_type_; }
  std::vector<std::string> argument_names() const override { return arguments; }

  std::vector<std::string> arguments;

 private:
  std::optional<model::ModelCard> card_;
  DType image_type_;
};

std::string message(const data::DataSetInfo& info, const model::ModelCard& card,
                    std::int64_t batch_size = kBatch) {
  try {
    map_inputs(info, CardOnly(card), batch_size, device::Device{});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  return "";
}

data::Batch batch_of(std::vector<std::uint8_t>& pixels) {
  data::Batch batch;
  batch.inputs = {contiguous_view(pixels.data(), DType::u8, {kBatch, 5, 6, 3})};
  return batch;
}

TEST(InputMapping, WithoutACardInputsGoInOrder) {
  auto info = image_set();
  info.columns.inputs.push_back(column_of("/inputs/mask", DType::i64, {9}));
  const auto made = map_inputs(info, CardOnly(std::nullopt), kBatch, device::Device{});
  ASSERT_EQ(made.bindings.size(), 2u);
  EXPECT_NE(made.bindings[0].normalise, nullptr);
  EXPECT_EQ(made.bindings[1].normalise, nullptr);
  EXPECT_EQ(made.bindings[1].source, 1u);
}

TEST(InputMapping, WithoutACardTheModelsOwnNamesDecide) {
  auto info = image_set();
  info.columns.inputs = {column_of("/inputs/a", DType::f32, {2}),
                         column_of("/inputs/b", DType::f32, {3})};
  std::vector<std::string> notes;
  const auto sources = [&](std::vector<std::string> arguments,
                           std::optional<model::ModelCard> card = std::nullopt) {
    CardOnly model(std::move(card));
    model.arguments = std::move(arguments);
    std::vector<std::size_t> found;
    const auto made = map_inputs(info, model, kBatch, device::Device{});
    for (const auto& binding : made.bindings) found.push_back(binding.source);
    notes = made.notes;
    return found;
  };
  EXPECT_THAT(sources({"b", "a"}), testing::ElementsAre(1, 0));
  EXPECT_THAT(sources({"b", "a", "scale"}), testing::ElementsAre(1, 0));
  EXPECT_THAT(sources({"b"}), testing::ElementsAre(1));
  EXPECT_THAT(notes, testing::IsEmpty());
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"b", "x", "a"}, {"b", "x"}}) {
    EXPECT_THAT(sources(arguments), testing::ElementsAre(0, 1));
    EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("its arguments (b, x")));
  }
  EXPECT_THAT(sources({"x", "y"}), testing::ElementsAre(0, 1));
  EXPECT_THAT(sources({}), testing::ElementsAre(0, 1));
  EXPECT_THAT(notes, testing::IsEmpty());
  model::ModelCard card;
  card.inputs = {{"a", DType::f32, {-1, 2}, ""}, {"b", DType::f32, {-1, 3}, ""}};
  EXPECT_THAT(sources({"b", "a"}, card), testing::ElementsAre(0, 1));
}

TEST(InputMapping, FollowTheCardsNames) {
  auto info = image_set();
  info.columns.inputs = {column_of("/inputs/a", DType::f32, {2}),
                         column_of("/inputs/b", DType::f32, {3})};
  model::ModelCard card;
  card.inputs = {{"b", DType::f32, {-1, 3}, ""}, {"a", DType::f32, {-1, 2}, ""}};
  const auto made = map_inputs(info, CardOnly(card), kBatch, device::Device{});
  EXPECT_EQ(made.bindings[0].source, 1u);
  EXPECT_EQ(made.bindings[1].source, 0u);
}

TEST(InputMapping, IntegersAndFractionsAreNotMixed) {
  auto info = image_set();
  info.columns.inputs = {column_of("/inputs/a", DType::f32, {2})};
  model::ModelCard card;
  card.inputs = {{"a", DType::i64, {-1, 2}, ""}};
  EXPECT_THAT(message(info, card), HasSubstr("holds float32"));
  card.inputs[0].dtype = DType::f16;
  EXPECT_EQ(message(info, card), "");
}

TEST(InputMapping, OneInputOnBothSidesNeedsNoName) {
  auto card = image_card();
  card.inputs[0].name = "x";
  EXPECT_EQ(message(image_set(), card), "");
}

TEST(InputMapping, MisfitsAreNamed) {
  auto card = image_card();
  card.inputs[0].shape = {-1, 3, 8, 8};
  EXPECT_THAT(message(image_set(), card),
              AllOf(HasSubstr("samples of shape [3, 8, 8] float32"), HasSubstr("holds [3, 5, 6]")));

  card = image_card();
  card.num_classes = 8;
  EXPECT_THAT(message(image_set(), card), HasSubstr("8 classes"));
  EXPECT_THAT(message(image_set(), card), HasSubstr("prepare it with --num-classes 8."));
  card.num_classes = 6;
  EXPECT_THAT(message(image_set(), card),
              HasSubstr("Give a model and a data set of the same classes."));

  card = image_card();
  card.fixed_batch = 16;
  EXPECT_THAT(message(image_set(), card), HasSubstr("--batch-size 16"));

  card = image_card();
  card.inputs.push_back({"mask", DType::i64, {-1, 9}, ""});
  EXPECT_THAT(message(image_set(), card), HasSubstr("/inputs/mask"));
}

TEST(InputMapping, TheCardsNormalisationWinsAndIsNoted) {
  auto card = image_card();
  card.normalisation = model::CardNormalisation{1.0, {1, 2, 3}, {1, 1, 1}, "BGR"};
  auto made = map_inputs(image_set(), CardOnly(card), kBatch, device::Device{});
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_THAT(made.notes[0], HasSubstr("BGR"));

  std::vector<std::uint8_t> pixels(kBatch * 5 * 6 * 3, 10);
  const auto prepared = prepare(batch_of(pixels), made.bindings, device::Stream(device::Device{}));
  ASSERT_EQ(prepared.size(), 1u);
  EXPECT_EQ(prepared[0].shape, (Shape{kBatch, 3, 5, 6}));
  EXPECT_FLOAT_EQ(prepared[0].as<float>()[0], 9.0F);
  EXPECT_FLOAT_EQ(prepared[0].as<float>()[2], 7.0F);
}

TEST(InputMapping, ImagesBecomeTheTypeThatTheModelWants) {
  const CardOnly half(image_card(), DType::bf16);
  auto made = map_inputs(image_set(), half, kBatch, device::Device{});
  std::vector<std::uint8_t> pixels(kBatch * 5 * 6 * 3, 10);
  const auto prepared = prepare(batch_of(pixels), made.bindings, device::Stream(device::Device{}));
  EXPECT_EQ(prepared.at(0).dtype, DType::bf16);
  EXPECT_EQ(prepared[0].as<std::uint16_t>()[0], 0x4120) << "10 in bfloat16";
}

TEST(InputMapping, EqualNormalisationsNeedNoNote) {
  auto card = image_card();
  card.normalisation = model::CardNormalisation{1.0, {0, 0, 0}, {1, 1, 1}, "RGB"};
  EXPECT_TRUE(map_inputs(image_set(), CardOnly(card), kBatch, device::Device{}).notes.empty());
}

}  // namespace
}  // namespace tally::evaluate
