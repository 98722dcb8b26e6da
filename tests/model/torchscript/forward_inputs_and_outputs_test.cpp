// SPDX-License-Identifier: Apache-2.0
// How forward() is given its inputs, and what is taken of what it returns.
#include "torchscript/forward_inputs_and_outputs.hpp"

#include <functional>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <tally/base/error.hpp>

namespace tally::model {
namespace {

using testing::HasSubstr;

torch::jit::Module module_of(const std::string& forward) {
  torch::jit::Module module("Net");
  module.define(forward);
  return module;
}

// What such a forward() makes of these inputs, with these names in the card.
Tensors call(const std::string& forward, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, const Tensors& tensors) {
  auto module = module_of(forward);
  const auto& schema = module.get_method("forward").function().getSchema();
  const Arguments arguments(schema, inputs, "net.pt");
  return tensors_in(module.forward(arguments.of(tensors)), outputs, "net.pt");
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    return error.what();
  }
  return "nothing was refused";
}

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

const Tensors kThreeAndFour{at::ones({}) * 3, at::ones({}) * 4};

constexpr const char* kDifference = "def forward(self, a, b):\n  return a - b\n";

TEST(ArgumentsTest, GoOneAfterTheOther) {
  EXPECT_EQ(number(call(kDifference, {}, {}, kThreeAndFour).at(0)), -1);
  EXPECT_EQ(number(call(kDifference, {"image", "mask"}, {}, kThreeAndFour).at(0)), -1);
}

TEST(ArgumentsTest, HaveTheNamesOfTheSource) {
  const auto module = module_of("def forward(self, b, a, scale: float = 1.0):\n  return a - b\n");
  EXPECT_THAT(argument_names(module.get_method("forward").function().getSchema()),
              testing::ElementsAre("b", "a", "scale"));
}

TEST(ArgumentsTest, GoByNameWhereTheCardNamesThem) {
  EXPECT_EQ(number(call(kDifference, {"b", "a"}, {}, kThreeAndFour).at(0)), 1);
}

TEST(ArgumentsTest, WhatTheCardLeavesOutKeepsItsDefault) {
  const std::string forward =
      "def forward(self, a, scale: int = 5, b: Optional[Tensor] = None):\n  return a * scale\n";
  EXPECT_EQ(number(call(forward, {"a"}, {}, {at::ones({})}).at(0)), 5);
  EXPECT_THAT(refusal([&] { call(kDifference, {"b"}, {}, {at::ones({})}); }),
              HasSubstr("takes an input 'a', which its card does not name"));
}

TEST(ArgumentsTest, MayComeInADictATupleOrAList) {
  EXPECT_EQ(number(call("def forward(self, x: Dict[str, Tensor]):\n  return x['a'] - x['b']\n",
                        {"b", "a"}, {}, kThreeAndFour)
                       .at(0)),
            1);
  for (const std::string type : {"Tuple[Tensor, Tensor]", "List[Tensor]"}) {
    EXPECT_EQ(number(call("def forward(self, x: " + type + "):\n  return x[0] - x[1]\n", {}, {},
                          kThreeAndFour)
                         .at(0)),
              -1);
  }
  EXPECT_THAT(refusal([&] {
                call("def forward(self, x: Dict[str, Tensor]):\n  return x['a']\n", {}, {},
                     kThreeAndFour);
              }),
              HasSubstr("takes a dict, and no card names its inputs"));
}

TEST(ReturnedTest, ATupleGivesAsManyAsTheCardNames) {
  const std::string forward = "def forward(self, a):\n  return a, a * 2, 7\n";
  const Tensors outputs = call(forward, {}, {"one", "two"}, {at::ones({})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(number(outputs[1]), 2);
  EXPECT_THAT(refusal([&] { call(forward, {}, {}, {at::ones({})}); }),
              HasSubstr("returned int, expected a tensor"));
  EXPECT_THAT(refusal([&] {
                call("def forward(self, a):\n  return a, a\n", {}, {"x", "y", "z"}, {at::ones({})});
              }),
              HasSubstr("expected 3 tensors"));
}

TEST(ReturnedTest, OneTensorMayBeWrapped) {
  for (const std::string wrapped : {"a", "(a,)", "[a]", "((a,),)"}) {
    const auto outputs =
        call("def forward(self, a):\n  return " + wrapped + "\n", {}, {"y"}, {at::ones({})});
    EXPECT_EQ(outputs.size(), 1U) << wrapped;
  }
  EXPECT_THAT(refusal([&] {
                call("def forward(self, a):\n  return a\n", {}, {"x", "y"}, {at::ones({})});
              }),
              HasSubstr("expected the 2 outputs of its card"));
}

TEST(ReturnedTest, ADictIsReadByTheNamesOfTheCard) {
  const std::string forward = "def forward(self, a):\n  return {'end': a * 2, 'start': a}\n";
  const Tensors outputs = call(forward, {}, {"start", "end"}, {at::ones({})});
  EXPECT_EQ(number(outputs.at(1)), 2);
  EXPECT_THAT(refusal([&] { call(forward, {}, {"middle"}, {at::ones({})}); }),
              HasSubstr("without the output 'middle' that its card names"));
  EXPECT_THAT(refusal([&] { call(forward, {}, {}, {at::ones({})}); }),
              HasSubstr("expected tensors, or a card that names its outputs"));
}

TEST(ReturnedTest, NothingIsNoTensor) {
  for (const std::string value : {"None", "3", "[3]", "[]", "'word'"}) {
    EXPECT_THAT(refusal([&] {
                  call("def forward(self, a):\n  return " + value + "\n", {}, {}, {at::ones({})});
                }),
                HasSubstr("model 'net.pt' returned "))
        << value;
  }
}

}  // namespace
}  // namespace tally::model
