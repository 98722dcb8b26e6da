// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/checked_cast.hpp>
#include <tally/base/error.hpp>
#include <tally/evaluate/input_mapping.hpp>
#include <tally/tasks/task.hpp>

namespace tally::evaluate {
namespace {

using ::testing::ElementsAre;
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
  info.inputs = {image_column()};
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
  info.inputs.push_back(column_of("/inputs/mask", DType::i64, {9}));
  const auto made = map_inputs(info, CardOnly(std::nullopt), kBatch, device::Device{});
  ASSERT_EQ(made.bindings.size(), 2u);
  EXPECT_NE(made.bindings[0].normalise, nullptr);
  EXPECT_EQ(made.bindings[1].normalise, nullptr);
  EXPECT_EQ(made.bindings[1].source, 1u);
}

TEST(InputMapping, WithoutACardTheModelsOwnNamesDecide) {
  auto info = image_set();
  info.inputs = {column_of("/inputs/a", DType::f32, {2}), column_of("/inputs/b", DType::f32, {3})};
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
  info.inputs = {column_of("/inputs/a", DType::f32, {2}), column_of("/inputs/b", DType::f32, {3})};
  model::ModelCard card;
  card.inputs = {{"b", DType::f32, {-1, 3}, ""}, {"a", DType::f32, {-1, 2}, ""}};
  const auto made = map_inputs(info, CardOnly(card), kBatch, device::Device{});
  EXPECT_EQ(made.bindings[0].source, 1u);
  EXPECT_EQ(made.bindings[1].source, 0u);
}

TEST(InputMapping, IntegersAndFractionsAreNotMixed) {
  auto info = image_set();
  info.inputs = {column_of("/inputs/a", DType::f32, {2})};
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

// Scores of zeros, from as few samples as it may take.
class Rehearsing : public CardOnly {
 public:
  explicit Rehearsing(bool takes_few) : CardOnly(std::nullopt), takes_few_(takes_few) {}
  model::Outputs warm_up(std::span<const TensorView> inputs) override { return scores_of(inputs); }
  std::optional<model::Outputs> warm_up_small(std::span<const TensorView> inputs,
                                              std::int64_t batch_size) override {
    told_batch_size = batch_size;
    if (!takes_few_) return std::nullopt;
    return scores_of(inputs);
  }

  model::Outputs predict(std::span<const TensorView> inputs) override { return scores_of(inputs); }

  std::int64_t told_batch_size = 0;
  std::vector<std::int64_t> rows;  // of each call

 private:
  model::Outputs scores_of(std::span<const TensorView> inputs) {
    rows.push_back(inputs.front().shape.front());
    scores_.assign(checked_cast<std::size_t>(rows.back() * 7), 0.0F);
    return {contiguous_view(scores_.data(), DType::f32, {rows.back(), 7})};
  }

  bool takes_few_;
  std::vector<float> scores_;
};

std::vector<std::int64_t> rows_of_warm_up(bool takes_few, std::int64_t batch_size) {
  auto info = image_set();
  info.targets = {column_of("/targets/label", DType::i64, {})};
  tasks::TaskOptions options;
  options.metrics = {.num_classes = info.num_classes};
  const auto task = tasks::make_task(options);
  Rehearsing predictor(takes_few);
  auto made = map_inputs(info, predictor, batch_size, device::Device{});
  warm_up(info, batch_size, made.bindings, predictor, *task, device::Stream(device::Device{}));
  EXPECT_EQ(predictor.told_batch_size, batch_size > 3 ? batch_size : 0);
  return predictor.rows;
}

TEST(WarmUp, TakesAFewSamplesWhereTheyDo) {
  EXPECT_THAT(rows_of_warm_up(true, 64), ElementsAre(3));
  EXPECT_THAT(rows_of_warm_up(false, 64), ElementsAre(64));
  EXPECT_THAT(rows_of_warm_up(true, 3), ElementsAre(3));
  EXPECT_THAT(rows_of_warm_up(true, 1), ElementsAre(1));
}

TEST(SecondsOfBatch, AreThoseOfSeveralWholeBatches) {
  Rehearsing predictor(true);
  auto made = map_inputs(image_set(), predictor, 64, device::Device{});
  EXPECT_GE(
      seconds_of_batch(image_set(), 64, made.bindings, predictor, device::Stream(device::Device{})),
      0);
  EXPECT_GE(predictor.rows.size(), 3U);
  EXPECT_THAT(predictor.rows, testing::Each(64));
}

}  // namespace
}  // namespace tally::evaluate
