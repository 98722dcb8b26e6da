// SPDX-License-Identifier: Apache-2.0
// A checkpoint held against a list of a model's weights.
#include <tally/model/expected_weights.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture_file.hpp"

namespace tally::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using weights::ElementType;

weights::Checkpoint checkpoint(std::initializer_list<std::string> names) {
  weights::Checkpoint made;
  made.path = "w.pth";
  for (const auto& name : names) made.tensors[name] = {ElementType::f32, {2, 3}, {}};
  return made;
}

ExpectedWeights two_names() {
  return parse_expected_weights(
      R"({"model": "net", "tensors": [{"name": "in.w", "dtype": "float32", "shape": [2, 3]},
          {"name": "out.w", "same_as": "in.w"}, {"name": "shift", "dtype": "int64", "shape": []},
          {"name": "n.num_batches_tracked", "dtype": "int64", "shape": []}],
          "fixed_buffers": ["shift"]})",
      "list");
}

TEST(ExpectedWeightsTest, FitAsThoseOfAModel) {
  for (const auto& names : {checkpoint({"module.in.w"}), checkpoint({"module.out.w"})}) {
    const auto fit = fit_weights(names, two_names(), {});
    EXPECT_EQ(fit.prefix, "module.");
    EXPECT_EQ(fit.names.size(), 1U);
    EXPECT_THAT(fit.notes, ElementsAre("weights 'w.pth': prefix 'module.' taken off the names"));
  }
  const auto fit = fit_weights(checkpoint({"a.in.w", "b.in.w"}), two_names(), "a.");
  EXPECT_THAT(fit.names, ElementsAre("a.in.w"));
}

TEST(ExpectedWeightsTest, WhatDoesNotFitIsNamed) {
  auto other = checkpoint({"in.w", "extra"});
  other.tensors["in.w"].shape = {3, 2};
  const auto refusal = error_of(ErrorKind::model, [&] { fit_weights(other, two_names(), {}); });
  EXPECT_THAT(refusal, HasSubstr("do not fit model 'net'"));
  EXPECT_THAT(refusal, HasSubstr("1 unexpected: extra"));
  EXPECT_THAT(refusal, HasSubstr("in.w [3, 2] float32 (the model's: [2, 3] float32)"));
}

TEST(ExpectedWeightsTest, WithoutAListAllAreTaken) {
  EXPECT_EQ(fit_weights(checkpoint({"module.a", "b"}), {}, {}).names.size(), 2U);
  EXPECT_THAT(fit_weights(checkpoint({"x.a", "b"}), {}, "x.").names, ElementsAre("x.a"));
  EXPECT_THAT(
      error_of(ErrorKind::model, [] { fit_weights(checkpoint({"a"}), std::nullopt, "x."); }),
      HasSubstr("have no tensor under --weights-prefix 'x.'"));
}

TEST(ExpectedWeightsTest, ListsOfAnotherFormAreRefused) {
  for (const auto* text :
       {"", "[]", R"({"model": "n", "fixed_buffers": []})",
        R"({"model": "n", "tensors": [{"name": "a"}], "fixed_buffers": []})",
        R"({"model": "n", "tensors": [{"name": "a", "dtype": "float32", "shape": [-1]}],
            "fixed_buffers": []})"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { parse_expected_weights(text, "list"); }),
                HasSubstr("list is no list of a model's weights ("));
  }
  const auto backwards = parse_expected_weights(
      R"({"model": "n", "tensors": [{"name": "a", "same_as": "b"}], "fixed_buffers": []})", "list");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { fit_weights(checkpoint({"a"}), backwards, {}); }),
              HasSubstr("'a' is said to be the same as 'b'"));
}

}  // namespace
}  // namespace tally::model
