// SPDX-License-Identifier: Apache-2.0
#include <tally/predictions/choose_rows.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <tally/base/error.hpp>

#include "saved_columns.hpp"
#include "worst_samples.hpp"

namespace tally::predictions {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Numbers = std::vector<std::int64_t>;

ChosenRows choose(const std::filesystem::path& file, const RowsWanted& wanted) {
  return choose_rows(SavedRows(file), wanted);
}

Numbers worst(const std::filesystem::path& file, std::int64_t most) {
  return choose(file, {.most = most, .worst = true}).rows;
}

template <class Action>
std::string failure(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(ChooseRows, NotANumberIsWorstAndEqualLossesGoByIndex) {
  SavedColumns saved("regression", 7);
  saved.add("loss", std::vector<float>{1, kNan, 3, -kInf, 3, kInf, kNan});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 100), ElementsAre(1, 6, 5, 2, 4, 0, 3));
  EXPECT_THAT(worst(file, 4), ElementsAre(1, 6, 5, 2));
  EXPECT_THAT(worst(file, 1), ElementsAre(1));
  EXPECT_THAT(choose(file, {.most = 3}).rows, ElementsAre(0, 1, 2));
}

// The ignored token is no choice; -1 stands for a question that is not scored.
TEST(ChooseRows, ChoicesAreWrongOrRight) {
  SavedColumns saved("multiple-choice", 6);
  saved.set("ignore_index", "0");
  saved.add("label", Numbers{0, 1, 0, -1, 2, 0});
  saved.add("prediction", Numbers{0, 0, 1, 1, 2, -1});
  const auto file = saved.close();
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(1, 2, 5));
  EXPECT_THAT(worst(file, 9), ElementsAre(1, 2, 5, 0, 4));
  EXPECT_THAT(failure(ErrorKind::usage, [&] { choose(file, {.label = 1}); }),
              HasSubstr("--class is not for"));
}

// Windows are of 65,536 rows.
TEST(ChooseRows, FindsTheWorstOfAllWindows) {
  constexpr std::int64_t kRows = 200000;
  std::vector<float> losses(kRows);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] = static_cast<float>(i * 7919 % 100003);  // each twice, about
  }
  SavedColumns saved("regression", kRows);
  saved.add("loss", losses);
  Numbers expected(kRows);
  std::iota(expected.begin(), expected.end(), 0);
  std::ranges::stable_sort(expected, std::greater<>{},
                           [&](std::int64_t row) { return losses[static_cast<std::size_t>(row)]; });
  expected.resize(500);
  const auto file = saved.close();
  EXPECT_EQ(worst(file, 500), expected);

  RowsWanted thirds{.most = 5};
  Numbers seen;
  thirds.also = [&](std::span<const std::int64_t> indices, std::span<std::uint8_t> keep) {
    EXPECT_EQ(indices.size(), keep.size());
    EXPECT_LE(indices.size(), 65536U);  // however many rows there are
    seen.insert(seen.end(), indices.begin(), indices.end());
    for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = indices[i] % 30000 == 0 ? 1 : 0;
  };
  const auto chosen = choose(file, thirds);
  EXPECT_THAT(chosen.rows, ElementsAre(29900, 59900, 89900, 119900, 149900));
  EXPECT_EQ(chosen.num_matching, 6);
  EXPECT_EQ(std::ssize(seen), kRows);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(ChooseRows, LabelsThatAreNotScoredAreNeitherWorstNorWrong) {
  SavedColumns saved("multiclass", 5);
  saved.set("ignore_index", "-100");
  saved.add("loss", std::vector<float>{kNan, 2, kNan, 0.5, 1});
  saved.add("label", Numbers{-100, 1, 2, 0, 1});
  saved.add("prediction", Numbers{0, 0, -1, 0, 2});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(1, 2, 4));
  EXPECT_THAT(choose(file, {.label = 1}).rows, ElementsAre(1, 4));
  EXPECT_THAT(choose(file, {.worst = true, .label = 1, .prediction = 2}).rows, ElementsAre(4));
  EXPECT_THAT(choose(file, {}).rows, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ChooseRows, OfSeveralLabelsTheScoredOnesCount) {
  SavedColumns saved("multilabel", 4);
  saved.set("ignore_index", "7");
  saved.add("loss", std::vector<float>{1, kNan, kNan, 2});
  const Shape shape{4, 2};
  saved.add("label", std::vector<std::uint8_t>{1, 7, 7, 7, 0, 1, 1, 0}, shape);
  saved.add("prediction", std::vector<std::uint8_t>{1, 0, 1, 1, 255, 255, 1, 0}, shape);
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(2, 3, 0));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(2));
  EXPECT_THAT(choose(file, {.label = 1}).rows, ElementsAre(2));
  EXPECT_THAT(choose(file, {.prediction = 1}).rows, ElementsAre(1));
  EXPECT_THAT(choose(file, {.label = 2}).rows, ElementsAre());
}

TEST(ChooseRows, QuestionsGoByF1AndThenByScore) {
  SavedColumns saved("question-answering", 4);
  saved.add("f1", std::vector<double>{0.5, 0, 0, 1});
  saved.add("exact_match", std::vector<std::uint8_t>{0, 0, 0, 1});
  saved.add("score", std::vector<double>{1, 9, 3, 0});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(2, 1, 0, 3));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(0, 1, 2));
  SavedColumns without("question-answering", 3);
  without.add("f1", std::vector<double>{0, 0.25, 0});
  EXPECT_THAT(worst(without.close(), 9), ElementsAre(0, 2, 1));
}

TEST(ChooseRows, ImagesGoByTheirShareOfRightPixels) {
  SavedColumns saved("segmentation", 4);
  saved.add("correct", Numbers{5, 0, 9, 9});
  saved.add("pixels", Numbers{10, 0, 10, 9});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(0, 2, 3));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(0, 2));
  EXPECT_THAT(choose(file, {}).rows, ElementsAre(0, 1, 2, 3));
}

TEST(ChooseRows, SentencesGoByTheirShareOfRightTokens) {
  SavedColumns saved("token-classification", 4);
  saved.add("correct", Numbers{5, 0, 9, 9});
  saved.add("tokens", Numbers{10, 0, 10, 9});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(0, 2, 3));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(0, 2));
}

TEST(ChooseRows, ImagesGoByTheirShareOfFoundObjects) {
  SavedColumns saved("detection", 4);
  saved.add("correct", Numbers{2, 0, 0, 3});
  saved.add("annotated", Numbers{3, 0, 1, 3});
  const auto file = saved.close();
  EXPECT_THAT(worst(file, 9), ElementsAre(2, 0, 3));
  EXPECT_THAT(choose(file, {.wrong = true}).rows, ElementsAre(0, 2));
}

TEST(ChooseRows, WhatATaskDoesNotHaveIsRefused) {
  SavedColumns regression("regression", 2);
  regression.add("prediction", std::vector<float>{1, 2});
  const auto file = regression.close();
  EXPECT_THAT(failure(ErrorKind::dataset, [&] { worst(file, 1); }),
              HasSubstr("has no column 'loss'. Evaluate again with --save labels."));
  EXPECT_THAT(failure(ErrorKind::usage, [&] { choose(file, {.wrong = true}); }),
              HasSubstr("--wrong is not for"));
  EXPECT_THAT(failure(ErrorKind::usage, [&] { choose(file, {.prediction = 0}); }),
              HasSubstr("--predicted is not for"));
  SavedColumns outputs("predict", 2);
  const auto predicted = outputs.close();
  EXPECT_THAT(failure(ErrorKind::usage, [&] { worst(predicted, 1); }),
              HasSubstr("neither right nor wrong"));
  EXPECT_THAT(choose(predicted, {.most = 1}).rows, ElementsAre(0));
}

TEST(ChooseRows, DamagedColumnsAreNamed) {
  const auto failure_of = [](auto&& add) {
    SavedColumns saved("multiclass", 2);
    add(saved);
    const auto file = saved.close();
    return failure(ErrorKind::dataset, [&] { worst(file, 1); });
  };
  const Numbers labels{0, 1};
  EXPECT_THAT(failure_of([&](SavedColumns& saved) {
                saved.add("label", labels);
                saved.add("loss", std::vector<float>{}, {2, 0});
              }),
              HasSubstr("/loss has several values in a row"));
  EXPECT_THAT(failure_of([&](SavedColumns& saved) {
                saved.add("label", std::vector<float>{0, 1});
                saved.add("loss", std::vector<float>{0, 1});
              }),
              HasSubstr("/label is of float32, expected integers"));
  EXPECT_THAT(failure_of([&](SavedColumns& saved) {
                saved.add("label", Numbers{0}, {1});
                saved.add("loss", std::vector<float>{0, 1});
              }),
              HasSubstr("/label is [1], expected 2 rows"));
}

}  // namespace
}  // namespace tally::predictions
