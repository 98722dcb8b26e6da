// SPDX-License-Identifier: Apache-2.0
#include "onnx/graph_card.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>

namespace tally::model {
namespace {

using openvino::Port;
using testing::ElementsAre;
using testing::HasSubstr;

// Says what it is made of; it cannot run.
class NetworkOfPorts final : public openvino::Network {
 public:
  NetworkOfPorts(std::vector<Port> inputs, std::vector<Port> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  std::vector<std::string> operators() const override { return {}; }
  std::string metadata(const std::string&) const override { return {}; }
  std::int64_t largest_tensor_bytes(const std::vector<Shape>&) const override { return 0; }
  std::unique_ptr<openvino::CompiledNetwork> compile(
      const std::vector<Shape>&, const openvino::CompileOptions&) const override {
    return nullptr;
  }

 private:
  std::vector<Port> inputs_, outputs_;
};

Port input(Shape shape, DType dtype = DType::f32) { return {"x", dtype, std::move(shape), ""}; }
Port output(Shape shape, std::string computed_by = "Add", DType dtype = DType::f32) {
  return {"y", dtype, std::move(shape), std::move(computed_by)};
}

GraphCard by_graph(const Port& in, const Port& out) {
  return match_card(NetworkOfPorts({in}, {out}), std::nullopt, "n.onnx");
}

std::string complaint(const Port& in, const Port& out,
                      const std::optional<ModelCard>& card = std::nullopt) {
  try {
    match_card(NetworkOfPorts({in}, {out}), card, "n.onnx");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(GraphCardTest, TheGraphSaysNamesShapesAndClasses) {
  const auto [card, inputs, outputs] = by_graph(input({-1, 3, 32, 32}), output({-1, 10}));
  EXPECT_EQ(card.inputs.front().name, "x");
  EXPECT_THAT(card.inputs.front().shape, ElementsAre(-1, 3, 32, 32));
  EXPECT_EQ(card.outputs.front().kind, "logits");
  EXPECT_EQ(card.num_classes, 10);
  EXPECT_EQ(card.fixed_batch, std::nullopt);
  EXPECT_FALSE(card.weights.are_swappable);
  EXPECT_FALSE(inputs.front().channels_last);
  EXPECT_FALSE(outputs.front().drops_ones);
}

TEST(GraphCardTest, AFirstSizeBindsTheBatch) {
  const auto card = by_graph(input({8, 6}), output({8, 10})).card;
  EXPECT_EQ(card.fixed_batch, 8);
  EXPECT_THAT(card.outputs.front().shape, ElementsAre(8, 10));
  // What a graph says of the rows of its outputs alone may be an accident of its export.
  EXPECT_THAT(by_graph(input({-1, 6}), output({1, 10})).card.outputs.front().shape,
              ElementsAre(-1, 10));
}

TEST(GraphCardTest, TheLastOperatorSaysWhatScoresAre) {
  const auto kind = [](const char* computed_by, DType dtype = DType::f32) {
    return by_graph(input({-1, 6}), output({-1, 10}, computed_by, dtype)).card.outputs[0].kind;
  };
  EXPECT_EQ(kind("Softmax"), "probabilities");
  EXPECT_EQ(kind("Sigmoid"), "probabilities");
  EXPECT_EQ(kind("LogSoftmax"), "log-probabilities");
  EXPECT_EQ(kind("MatMul"), "logits");
  EXPECT_EQ(kind("TopK", DType::i64), "");
}

TEST(GraphCardTest, ImagesWithChannelsLastAreShownChannelsFirst) {
  const auto images = by_graph(input({-1, 224, 225, 3}), output({-1, 10}));
  EXPECT_THAT(images.card.inputs.front().shape, ElementsAre(-1, 3, 224, 225));
  EXPECT_TRUE(images.inputs.front().channels_last);
  const auto any_size = by_graph(input({-1, -1, -1, 1}), output({-1, 10}));
  EXPECT_TRUE(any_size.inputs.front().channels_last);
  // Four numbers each way are no images of four channels.
  EXPECT_FALSE(by_graph(input({-1, 3, 8, 3}), output({-1, 10})).inputs.front().channels_last);
  EXPECT_FALSE(
      by_graph(input({-1, 8, 8, 3}, DType::i64), output({-1, 10})).inputs.front().channels_last);
}

TEST(GraphCardTest, ScoresInOnePixelAreScores) {
  const auto matched = by_graph(input({-1, 3, 32, 32}), output({-1, 10, 1, 1}));
  EXPECT_THAT(matched.card.outputs.front().shape, ElementsAre(-1, 10));
  EXPECT_TRUE(matched.outputs.front().drops_ones);
  EXPECT_EQ(matched.card.num_classes, 10);
}

TEST(GraphCardTest, NamesAreMadeFitForDataSets) {
  auto scores = output({-1, 10});
  scores.name = "save/scale_0.tmp:0";
  const auto card = by_graph(input({-1, 6}), scores).card;
  EXPECT_EQ(card.outputs.front().name, "save_scale_0_tmp_0");
  EXPECT_EQ(match_card(NetworkOfPorts({input({-1, 6})}, {scores}), card, "n.onnx").outputs[0].port,
            0u);
}

TEST(GraphCardTest, WhatHasNoRowsIsRefused) {
  EXPECT_THAT(complaint(input({}), output({-1, 10})),
              HasSubstr("the input 'x', which is no tensor with a row for each sample"));
  EXPECT_THAT(complaint(input({-1, 6}), output({})), HasSubstr("the output 'y'"));
}

ModelCard written() {
  ModelCard card;
  card.inputs = {{"x", DType::f32, {-1, 3, 8, 9}, ""}};
  card.outputs = {{"y", DType::f32, {-1, 10}, "probabilities"}};
  return card;
}

TEST(GraphCardTest, AWrittenCardWinsAndMustAgree) {
  const auto matched =
      match_card(NetworkOfPorts({input({-1, 8, 9, 3})}, {output({-1, 10})}), written(), "n.onnx");
  EXPECT_TRUE(matched.inputs.front().channels_last);
  EXPECT_EQ(matched.card.outputs.front().kind, "probabilities");
  EXPECT_THAT(complaint(input({-1, 3, 9, 8}), output({-1, 10}), written()),
              HasSubstr("takes the input 'x' as [-1, 3, 9, 8], its card says [-1, 3, 8, 9]"));
  auto other = written();
  other.outputs.front().name = "z";
  EXPECT_THAT(complaint(input({-1, 3, 8, 9}), output({-1, 10}), other),
              HasSubstr("has no output 'z', which its card names; it has 'y'"));
  other = written();
  other.inputs.front().name = "w";
  EXPECT_THAT(complaint(input({-1, 3, 8, 9}), output({-1, 10}), other),
              HasSubstr("takes an input 'x', which its card does not name"));
}

}  // namespace
}  // namespace tally::model
