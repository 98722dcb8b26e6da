// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/base/error.hpp>
#include <tally/base/task_traits.hpp>

namespace tally {
namespace {

using testing::ElementsAre;

// The words of data sets, reports and options: part of the formats.
TEST(TaskTraitsTest, NamesStay) {
  EXPECT_THAT(task_names(),
              ElementsAre("binary", "detection", "language-model", "multiclass", "multilabel",
                          "multiple-choice", "predict", "question-answering", "regression",
                          "segmentation", "token-classification"));
}

TEST(TaskTraitsTest, AreFoundByNameAndByKind) {
  for (const TaskTraits& task : all_tasks()) {
    EXPECT_EQ(&task_traits(task.name), &task);
    EXPECT_EQ(&task_traits(task.kind), &task);
    EXPECT_EQ(find_task_traits(task.name), &task);
    EXPECT_TRUE(is_task(task.name, task.kind));
    EXPECT_EQ(task_name(task.kind), task.name);
  }
  EXPECT_FALSE(is_task("binary", TaskKind::multiclass));
}

TEST(TaskTraitsTest, OtherTextsAreNoTask) {
  for (const auto* text : {"", "Binary", "binary ", "ranking"}) {
    EXPECT_EQ(find_task_traits(text), nullptr) << text;
    EXPECT_FALSE(is_task(text, TaskKind::binary)) << text;
    EXPECT_THROW(task_traits(text), Error) << text;
  }
}

TEST(TaskTraitsTest, WhatIsScoredCanBeScoredAgain) {
  for (const TaskTraits& task : all_tasks()) {
    EXPECT_EQ(task.is_scored, task.saved != SavedForm::none) << task.name;
    EXPECT_EQ(task.is_scored, !task.one.empty()) << task.name;
    EXPECT_EQ(task.one.empty(), task.many.empty()) << task.name;
  }
}

// Scores of a vocabulary at each place are the largest thing that a run holds.
TEST(TaskTraitsTest, ScoresOfTokensAreReadAsTheyAre) {
  for (const TaskTraits& task : all_tasks()) {
    const bool has_tokens = task.saved == SavedForm::units || task.saved == SavedForm::tags;
    EXPECT_EQ(task.reads_bfloat16, has_tokens) << task.name;
  }
}

}  // namespace
}  // namespace tally
