// SPDX-License-Identifier: Apache-2.0
// Which task a run has, and what kind of outputs it takes for granted.
#include <tally/setup/make_scoring.hpp>

#include <gmock/gmock.h>

#include <limits>

#include <tally/base/task_traits.hpp>
#include <tally/comm/agree.hpp>

#include "comm_fixture.hpp"

namespace tally::app {
namespace {

using metrics::OutputKind;
using testing::HasSubstr;

data::DataSetInfo info_of(std::string task, std::int64_t num_classes = 3) {
  data::DataSetInfo info;
  info.path = "a.h5";
  info.task = std::move(task);
  info.num_samples = 7;
  info.num_classes = num_classes;
  if (!is_task(info.task, TaskKind::detection)) info.columns.targets.emplace_back().name = "label";
  return info;
}

std::string refusal_of(const std::string& asked, const data::DataSetInfo& info) {
  try {
    task_in_force(asked, info);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "none";
}

TEST(TaskInForceTest, IsTheDataSetsUnlessAnotherFits) {
  EXPECT_EQ(task_in_force("", info_of("multilabel")), "multilabel");
  EXPECT_EQ(task_in_force("multilabel", info_of("multilabel")), "multilabel");
  EXPECT_EQ(task_in_force("binary", info_of("multiclass", 2)), "binary");
  EXPECT_EQ(task_in_force("multiclass", info_of("binary", 2)), "multiclass");
}

TEST(TaskInForceTest, OthersAreRefused) {
  EXPECT_THAT(refusal_of("binary", info_of("multiclass", 3)), HasSubstr("does not fit data set"));
  EXPECT_THAT(refusal_of("detection", info_of("regression")), HasSubstr("is for 'regression'"));
  EXPECT_THAT(refusal_of("multiclas", info_of("multiclass")), HasSubstr("Did you mean"));
}

TEST(RowSizesTest, ARowThatMpiCannotCountIsOfTheDataSet) {
  const std::int64_t most = std::numeric_limits<int>::max();
  using Specs = std::vector<predictions::ColumnSpec>;
  check_row_sizes(Specs{{"index", DType::i64, {}}, {"masks", DType::u8, {most}}});
  check_row_sizes(
      Specs{{"text", DType::u8, {most + 1}, true}});  // its elements are sent one by one
  try {
    check_row_sizes(Specs{{"index", DType::i64, {}}, {"logits", DType::f32, {most / 4 + 1}}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::dataset);
    EXPECT_THAT(error.what(),
                HasSubstr("'logits' has 2147483648 bytes, expected at most 2147483647"));
  }
}

class MakeScoringTest : public comm::CommTest {
 protected:
  Scoring make(const std::string& task, std::optional<OutputKind> saved = std::nullopt) {
    const auto info = info_of(task);
    return make_scoring(world(), config_, task_in_force("", info), info, saved, card_);
  }
  // The line that all ranks leave with.
  std::string failure_of(const std::string& task, ErrorKind kind) {
    try {
      make(task);
    } catch (const comm::AgreedFailure& failure) {
      EXPECT_EQ(failure.kind, kind);
      return "failed";
    }
    return "none";
  }

  config::RunConfig config_;
  std::optional<model::ModelCard> card_;
};

TEST_F(MakeScoringTest, OutputsAreOfTheOptionElseTheCardElseLogits) {
  EXPECT_EQ(make("multiclass").outputs, OutputKind::logits);
  card_.emplace().outputs.emplace_back().kind = "probabilities";
  EXPECT_EQ(make("multiclass").outputs, OutputKind::probabilities);
  EXPECT_EQ(make("detection").outputs, OutputKind::logits) << "of boxes there is one kind";
  config_.scoring.outputs = "log-probabilities";
  EXPECT_EQ(make("multiclass").outputs, OutputKind::log_probabilities);
}

TEST_F(MakeScoringTest, SavedScoresSayWhatTheyAre) {
  card_.emplace().outputs.emplace_back().kind = "probabilities";
  EXPECT_EQ(make("multiclass", OutputKind::log_probabilities).outputs,
            OutputKind::log_probabilities);
}

TEST_F(MakeScoringTest, ATaskHasItsMetrics) {
  config_.scoring.names = {"accuracy"};
  const auto scoring = make("multiclass");
  EXPECT_EQ(scoring.task_name, "multiclass");
  EXPECT_THAT(scoring.task->metrics(), testing::ElementsAre("accuracy"));
  EXPECT_EQ(scoring.class_weights_digest, "");
}

TEST_F(MakeScoringTest, WhatATaskDoesNotHaveIsRefusedOnAllRanks) {
  config_.scoring.threshold = 0.25;
  EXPECT_EQ(failure_of("multiclass", ErrorKind::usage), "failed");
  EXPECT_EQ(failure_of("multilabel", ErrorKind::usage), "none");
  config_ = {};
  config_.results.intervals = "bootstrap";
  EXPECT_EQ(failure_of("detection", ErrorKind::usage), "failed");
  config_ = {};
  config_.results.spill_dir = "/no/such/folder";
  EXPECT_EQ(failure_of("multiclass", ErrorKind::output), "failed");
  config_.results.save = {"none"};
  EXPECT_EQ(failure_of("multiclass", ErrorKind::output), "none") << "nothing is recorded";
}

}  // namespace
}  // namespace tally::app
